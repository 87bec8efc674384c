// Tries: to move properties that are not there, for ever, inside one builtin.
// Ends: stopped cpuMs
Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1);
