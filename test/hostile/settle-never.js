// Tries: to wait for a promise that is never resolved.
// Ends: failed never_settles
await new Promise(() => {});
