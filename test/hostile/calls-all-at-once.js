// Tries: to have more calls open at once than there may be in all.
// Ends: stopped calls
await Promise.all(Array.from({ length: 12_000 }, (_, id) => tools.read({ id })));
