// Tries: to return while streams are under way.
// Ends: completed "returned"
for (let index = 0; index < 60; index += 1) void tools.rows({})[Symbol.asyncIterator]().next();
await tools.slow({ ms: 50 });
return "returned";
