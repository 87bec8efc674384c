// Tries: to reserve address space for buffers that could grow, until there is none left.
// Ends: failed RangeError | stopped memoryBytes | stopped cpuMs
const kept = [];
for (;;) kept.push(new ArrayBuffer(1, { maxByteLength: 64 * 1024 ** 3 }));
