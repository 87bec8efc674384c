// Tries: to have a program read by both parsers to its very end, and to be none for either.
// Ends: failed syntax
export default () => `const a: number = 1;\n${"a = [a, { a }, () => a];\n".repeat(1300)}return (;`;
