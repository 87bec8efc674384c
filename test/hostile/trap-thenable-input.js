// Tries: to run as a thenable wherever the guest awaits what it was handed.
// Ends: completed {"thened":0,"echoed":{"inner":{}}}
let thened = 0;
const trap = { inner: { then(resolve) { thened += 1; resolve("hijacked"); }, toJSON() { return {}; } } };
const echoed = await tools.echo({ value: trap });
return { thened, echoed };
