// Tries: to take all memory by objects.
// Ends: stopped memoryBytes
const kept = [];
for (;;) kept.push({ text: "x".repeat(1000) + kept.length });
