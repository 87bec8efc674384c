// Tries: to turn the longest sparse array there can be into a dense one.
// Ends: stopped memoryBytes | stopped cpuMs
const array = [];
array.length = 2 ** 32 - 1;
return array.fill("x").length;
