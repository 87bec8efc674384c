// Tries: to fill the heap with the sources and the code of regular expressions, each another one.
// Ends: stopped memoryBytes | stopped cpuMs
const kept = [];
const part = "(?:[a-z]+|\\d{2,9})".repeat(20);
for (;;) {
  const pattern = new RegExp(`^${kept.length}${part}`);
  pattern.test("abc");
  kept.push(pattern);
}
