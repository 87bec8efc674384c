// Tries: to search the longest array-like there can be, from its end.
// Ends: stopped cpuMs
return Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1);
