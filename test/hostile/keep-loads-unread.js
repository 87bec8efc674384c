// Tries: to have a large value loaded many times at once, and to read nothing of it.
// Ends: stopped cpuMs | stopped totalBytes | stopped memoryBytes | stopped wallMs
await save("a", "x".repeat(4_000_000));
for (let n = 0; n < 200; n += 1) load("a").catch(() => {});
await tools.read({ id: 1 });
for (;;);
