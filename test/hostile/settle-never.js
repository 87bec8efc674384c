// Tries: to wait for what nobody resolves.
// Ends: failed never_settles
await new Promise(() => {});
