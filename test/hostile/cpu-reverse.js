// Tries: to stay in a builtin that never looks whether it should stop.
// Ends: stopped cpuMs
Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
