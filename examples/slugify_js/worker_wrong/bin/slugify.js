import { createInterface } from "node:readline";
import { slugify } from "../lib/slugify.js";

const texts = process.argv.slice(2);
if (texts.some((text) => text.startsWith("--"))) {
  console.error("usage: slugify [TEXT ...], or lines on standard input");
  process.exit(2);
}
for await (const text of texts.length ? texts : createInterface({ input: process.stdin })) {
  console.log(slugify(text));
}
