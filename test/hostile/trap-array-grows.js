// Tries: to be an array of another length each time it is asked.
// Ends: stopped frameBytes
let asked = 0;
return { rows: new Proxy([], { get: (_, key) => (key === "length" ? 1000 ** (asked += 1) : key === "toJSON" ? undefined : "row") }) };
