// Tries: to print a table of columns without an end, each made when it is read.
// Ends: stopped cpuMs | stopped memoryBytes
console.table([{ a: 1 }], new Proxy([], { get: (_, key) => (key === "length" ? Infinity : `column ${String(key)}`) }));
