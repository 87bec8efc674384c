// Tries: to give the input itself a prototype by a field, past the flat way of sending it.
// Ends: failed input_invalid: __proto__
// Runs: read 0
await tools.read(Object.defineProperty({ id: 1 }, "__proto__", { value: 7, enumerable: true }));
