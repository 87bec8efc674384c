// Tries: to pass text that is short in characters and long in bytes.
// Ends: stopped inputBytes | failed budget_spent
// Runs: echo 0
await tools.echo({ value: "\u20ac".repeat(1_500_000) });
