/** The text as it may stand in an address: `Hello, World!` becomes `hello-world`. */
export function slugify(text) {
  return text.toLowerCase().replace(/\s/g, "-");
}
