// Tries: to chain each promise to the next one for ever.
// Ends: stopped cpuMs | stopped memoryBytes
const again = () => Promise.resolve().then(again);
await again();
