const nested = (open: string, inner: string, close: string) => open.repeat(40) + inner + close.repeat(40);
const groups = (count: number) =>
  Array.from({ length: count }, () => 0).reduce((inner) => `(?:${inner}|(?<a>))`, "(?<a>)");

/** Programs that take more than a second to read: each level takes at least twice the time of the one within it. */
export const HARD: readonly (readonly [string, string])[] = [
  ["type arguments with a computed name", `let q: number = ${nested("a<{[", "1", "]}>(1)")}`],
  ["type arguments that nothing closes", `let q: number = ${"a<{[".repeat(40)}1`],
  ["types of functions with a default", `type A = ${nested("([a=b as ", "1", "])")};`],
  ["type parameters of arrow functions", `let x: number; ${nested("<T>(", "1", ")")}`],
  ["conditions with arrow functions", `let x: number; ${nested("a?(b):c=>{return ", "1", "}")}`],
  ["a regular expression of groups with one name", `return /${groups(600)}/;`],
];
