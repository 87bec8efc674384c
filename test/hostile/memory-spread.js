// Tries: to spread an iterator without an end into an array.
// Ends: stopped memoryBytes | stopped cpuMs
const endless = { *[Symbol.iterator]() { for (let index = 0; ; index += 1) yield index; } };
return [...endless].length;
