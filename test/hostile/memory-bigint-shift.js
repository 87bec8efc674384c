// Tries: to keep integers of 64 MB each.
// Ends: stopped memoryBytes
const kept = [];
for (let bits = 2n ** 29n; ; bits += 1n) kept.push(1n << bits);
