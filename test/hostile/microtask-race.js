// Tries: to hang a million reactions on one promise that never settles.
// Ends: stopped memoryBytes | stopped cpuMs
const never = new Promise(() => {});
for (;;) void Promise.race([never, never, never]);
