// Tries: to ask for a million rows before one has come.
// Ends: completed "done" | stopped memoryBytes | stopped cpuMs
const rows = tools.rows({ n: 10 })[Symbol.asyncIterator]();
let last;
for (let index = 0; index < 1_000_000; index += 1) last = rows.next();
const { done } = await last;
return done ? "done" : "not done";
