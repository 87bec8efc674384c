// Tries: to leave a thousand streams open, and to end with the refusal.
// Ends: stopped streams
// Records: refused budget_spent
await Promise.all(Array.from({ length: 1000 }, () => tools.rows({ n: 2000 })[Symbol.asyncIterator]().next()));
