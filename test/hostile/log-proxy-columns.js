// Tries: to change while it is printed: rows without an end, each made when it is looked at.
// Ends: stopped runningMs
console.table(new Proxy([], { get: (_, key) => (key === "length" ? Infinity : { row: key }) }));
