// Tries: to have a schema describe tens of thousands of faults of one input.
// Ends: failed input_invalid
// Runs: list 0
await tools.list({ ids: new Array(39_000).fill("") });
