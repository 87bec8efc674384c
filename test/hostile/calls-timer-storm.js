// Tries: to wake the host ten thousand times a millisecond.
// Ends: stopped cpuMs
const again = () => setTimeout(again, 1);
for (let index = 0; index < 10_000; index += 1) again();
await new Promise(() => {});
