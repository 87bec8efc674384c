// Tries: to pass 20 MB to a tool.
// Ends: failed budget_spent
// Runs: echo 0
await tools.echo({ value: "x".repeat(20_000_000) });
