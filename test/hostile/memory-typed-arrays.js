// Tries: to keep typed arrays, whose bytes lie outside of the heap, until the process is full.
// Ends: stopped memoryBytes | failed RangeError
const kept = [];
for (;;) kept.push(new Uint8Array(8 * 1024 * 1024).fill(1));
