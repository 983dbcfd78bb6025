/** The text as it may stand in an address: `Hello, World!` becomes `hello-world`. */
export function slugify(text) {
  throw new Error(`not written yet: ${text}`);
}
