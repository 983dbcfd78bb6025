import assert from "node:assert/strict";
import { test } from "node:test";
import { slugify } from "../lib/slugify.js";

test("words are joined by hyphens", () => {
  assert.equal(slugify("Hello World"), "hello-world");
});

test("accents are taken off", () => {
  assert.equal(slugify("Crème"), "creme");
});

test("a run of other characters is one hyphen", () => {
  assert.equal(slugify("a  &  b"), "a-b");
});
