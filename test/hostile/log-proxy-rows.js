// Tries: to print a table of rows without an end: the length of its array is a lie, and each row is made when it is read.
// Ends: completed "printed"
console.table(new Proxy([], { get: (_, key) => (key === "length" ? Infinity : { row: key }) }));
return "printed";
