// Tries: to pass a tool an array that says it has 2^53 - 1 rows.
// Ends: failed budget_spent
// Runs: echo 0
await tools.echo({ value: new Proxy([], { get: (_, key) => (key === "length" ? 2 ** 53 - 1 : key === "toJSON" ? undefined : {}) }) });
