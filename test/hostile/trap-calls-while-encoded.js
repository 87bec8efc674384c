// Tries: to make calls and to print from a getter, while the input of a call and the value are written out.
// Ends: completed {"first":1,"second":2}
// Runs: vault.open 0
let again = 0;
const input = { get id() { again += 1; if (again < 20) void tools.read(input).catch(() => {}); console.log("reading"); return again; } };
await tools.read(input);
return { get first() { void tools.read({ id: 1 }); return 1; }, get second() { console.log("second"); setTimeout(() => {}, 1); return 2; } };
