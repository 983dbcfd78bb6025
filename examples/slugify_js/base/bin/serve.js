import { createServer } from "node:http";
import { slugify } from "../lib/slugify.js";

createServer((request, response) => {
  const { searchParams } = new URL(request.url, "http://localhost");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ slug: slugify(searchParams.get("text") ?? "") }));
}).listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
