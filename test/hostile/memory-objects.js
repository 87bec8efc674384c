// Tries: to keep more small objects alive than the heap may hold.
// Ends: stopped memoryBytes | stopped cpuMs
const kept = [];
for (;;) kept.push({ index: kept.length, pair: [kept.length, kept.length] });
