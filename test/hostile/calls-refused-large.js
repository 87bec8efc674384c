// Tries: to have inputs kept that are refused for their size.
// Ends: stopped totalBytes | stopped memoryBytes
const value = "x".repeat(3_900_000);
for (;;) {
  try {
    await tools.echo({ value });
  } catch {}
}
