// Tries: to move more through the host than an execution may, each piece small enough.
// Ends: stopped totalBytes | stopped cpuMs
const value = "x".repeat(1_000_000);
for (let index = 0; index < 100; index += 1) await tools.echo({ value });
