// Tries: to loop in the continuation of a call instead of in the script itself.
// Ends: stopped cpuMs
// Runs: read 1
await tools.read({ id: 1 });
for (;;);
