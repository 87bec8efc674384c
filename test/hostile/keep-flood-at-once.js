// Tries: to have values kept faster than the journal takes them.
// Ends: stopped totalBytes | stopped memoryBytes
const value = "x".repeat(1_000_000);
await Promise.all(Array.from({ length: 100 }, (_, n) => save(`a${n % 50}`, value + n)));
