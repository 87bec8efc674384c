// Tries: to have a schema describe 250,000 faults of one input.
// Ends: failed input_invalid
// Runs: list 0
await tools.list({ ids: new Array(250_000).fill("") });
