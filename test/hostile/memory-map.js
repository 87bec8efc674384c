// Tries: to grow one Map until its table cannot be doubled.
// Ends: stopped memoryBytes | stopped cpuMs
const map = new Map();
for (let index = 0; ; index += 1) map.set(index, index);
