// Tries: to print a table of 2^32 rows, which its array does not hold.
// Ends: completed "printed"
console.table(new Array(2 ** 32 - 1));
return "printed";
