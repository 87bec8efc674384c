// Tries: to slip calls that change something into the very turn in which it ends.
// Ends: failed calls_not_awaited
// Runs: write 0
for (let id = 0; id < 100; id += 1) void tools.write({ id });
return "all written";
