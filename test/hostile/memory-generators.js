// Tries: to keep generators alive in the middle of their work, each with a frame of its own.
// Ends: stopped memoryBytes | stopped cpuMs
const kept = [];
function* work(...values) {
  for (const value of values) yield value;
}
for (;;) {
  const generator = work(...new Array(200).fill(kept.length));
  generator.next();
  kept.push(generator);
}
