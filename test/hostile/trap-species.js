// Tries: to be asked for the class of promise by which the guest hears of the end.
// Ends: completed "heard"
Object.defineProperty(Promise, Symbol.species, { get() { throw new Error("species"); } });
Object.defineProperty(Promise.prototype, "constructor", { get() { throw new Error("constructor"); } });
return "heard";
