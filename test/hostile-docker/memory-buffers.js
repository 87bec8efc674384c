// Tries: to take all memory outside of V8's heap.
// Ends: stopped memoryBytes
const kept = [];
for (;;) kept.push(Buffer.alloc(4 * 1024 * 1024, 1));
