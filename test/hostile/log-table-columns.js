// Tries: to print a table of 40,000 rows, each with a column of its own, so that it has 1.6 thousand million cells.
// Ends: stopped cpuMs | stopped memoryBytes
console.table(Array.from({ length: 40_000 }, (_, index) => ({ [`column ${index}`]: index })));
