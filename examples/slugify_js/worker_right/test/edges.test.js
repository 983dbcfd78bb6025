import assert from "node:assert/strict";
import { test } from "node:test";
import { slugify } from "../lib/slugify.js";

test("no hyphen at either end", () => {
  assert.equal(slugify("(Hello!)"), "hello");
  assert.equal(slugify("--"), "");
});
