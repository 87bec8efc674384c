// Tries: to have promises made by a class that makes none, in its first stretch.
// Ends: failed TypeError
// Runs: read 0
Promise.prototype.constructor = Array;
void Promise.reject(new Error("nobody handles this"));
await tools.read({ id: 1 });
