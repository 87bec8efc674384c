// Tries: to call a tool that writes after it has returned: from a timer, a microtask and a late continuation.
// Ends: completed "returned"
// Runs: write 0
setTimeout(() => tools.write({ id: 1 }), 1);
void Promise.resolve().then(() => Promise.resolve()).then(() => Promise.resolve()).then(() => tools.write({ id: 2 })).catch(() => {});
void tools.read({ id: 1 }).finally(() => tools.write({ id: 3 }));
return "returned";
