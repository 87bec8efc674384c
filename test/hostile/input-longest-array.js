// Tries: to have the guest count the holes of the longest array there can be.
// Ends: failed budget_spent
// Runs: echo 0
await tools.echo({ value: new Array(2 ** 32 - 1) });
