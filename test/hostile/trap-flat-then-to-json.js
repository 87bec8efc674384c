// Tries: to have no toJSON when it is looked for, and to have one when it is called.
// Ends: completed {"id":1}
let looks = 0;
return Object.defineProperty({ id: 1 }, "toJSON", { get() { looks += 1; return looks === 1 ? undefined : () => undefined; } });
