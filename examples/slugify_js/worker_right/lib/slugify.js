/** The text as it may stand in an address: `Hello, World!` becomes `hello-world`. */
export function slugify(text) {
  return text
    .normalize("NFD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
