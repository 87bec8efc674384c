// Tries: to loop while answers of half a megabyte each arrive, so that they pile up in the host.
// Ends: stopped cpuMs
const value = "x".repeat(500_000);
for (let index = 0; index < 50; index += 1) void tools.echo({ value });
await tools.read({ id: 1 });
for (;;);
