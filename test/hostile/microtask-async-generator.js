// Tries: to drain an asynchronous generator that has no end.
// Ends: stopped cpuMs
async function* endless() {
  for (;;) yield 1;
}
for await (const _ of endless());
