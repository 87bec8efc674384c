// Tries: to fill the heap with promises that wait for each other and never settle.
// Ends: stopped memoryBytes | stopped cpuMs
const kept = [];
let last = new Promise(() => {});
for (;;) kept.push((last = last.then(() => kept)));
