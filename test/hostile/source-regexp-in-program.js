// Tries: to break the engine's compiler of regular expressions: too deep, too large, too many groups.
// Ends: completed ["SyntaxError","true","SyntaxError","SyntaxError"]
const sources = [
  "(".repeat(100_000) + ")".repeat(100_000),
  `(?:${"a{0,1000}".repeat(1000)}){1000}`,
  "()".repeat(80_000),
  `(?<name>${"a".repeat(100_000)})\\k<missing>`,
];
return sources.map((source) => {
  try {
    return String(new RegExp(source, "v").test("aaaa"));
  } catch (error) {
    return error.name;
  }
});
