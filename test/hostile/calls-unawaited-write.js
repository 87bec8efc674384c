// Tries: to leave calls behind that have begun to change something, and to have the execution look complete.
// Ends: failed calls_not_awaited
for (let id = 0; id < 100; id += 1) void tools.write({ id });
await tools.read({ id: 1 });
return "all written";
