// Tries: to write a number that is too large for any reader, so that a tool gets Infinity.
// Ends: failed input_invalid
// Runs: read 0
await tools.read({ id: JSON.rawJSON("1e999") });
