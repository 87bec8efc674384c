// Tries: to have the host fill streams while it computes.
// Ends: stopped cpuMs
const all = Array.from({ length: 64 }, () => tools.rows({ size: 5000 })[Symbol.asyncIterator]());
for (const rows of all) await rows.next();
for (;;);
