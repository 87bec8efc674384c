// Tries: to break the host's recursion with an input of 50,000 levels.
// Ends: failed input_invalid
// Runs: echo 0
let value = [];
for (let depth = 0; depth < 50_000; depth += 1) value = [value];
await tools.echo({ value });
