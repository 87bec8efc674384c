// Tries: to print a table of 2^32 rows.
// Ends: stopped runningMs | stopped memoryBytes
console.table(new Array(2 ** 32 - 1));
