// Tries: to pass more than one call may take, but less than a frame may hold.
// Ends: stopped inputBytes
// Runs: echo 0
await tools.echo({ value: "x".repeat(2 * 1024 * 1024) });
