// Tries: to have the promises of its calls made by a class that makes none, in its first turn.
// Ends: completed {"id":1,"name":"row 1"}
// Runs: read 1
Promise.prototype.constructor = Array;
void Promise.reject(new Error("not handled"));
return await tools.read({ id: 1 });
