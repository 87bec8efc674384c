// Tries: to have 10,000 calls open when its time is over, to be aborted all at once.
// Ends: stopped wallMs
await Promise.all(Array.from({ length: 10_000 }, () => tools.hang({})));
