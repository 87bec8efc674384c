// Tries: to grow one Set of strings, each of which is made flat to be hashed.
// Ends: stopped memoryBytes | stopped cpuMs
const set = new Set();
const padding = "p".repeat(4000);
for (let index = 0; ; index += 1) set.add(padding + index);
