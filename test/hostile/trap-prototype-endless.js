// Tries: to have the guest climb a chain of prototypes that grows as it is climbed.
// Ends: failed RangeError | stopped cpuMs
const climb = () => new Proxy({}, { getPrototypeOf: climb });
return { value: climb() };
