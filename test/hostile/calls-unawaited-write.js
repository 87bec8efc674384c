// Tries: to leave calls behind that have begun to change something, and to have the execution look complete.
// Ends: failed calls_not_awaited
for (let id = 0; id < 30; id += 1) void tools.write({ id, ms: 60_000 });
await tools.read({ id: 1 });
return "all written";
