// Tries: to ask on and on after its calls are spent, catching every refusal.
// Ends: stopped cpuMs | stopped calls
for (;;) {
  try {
    await Promise.all(Array.from({ length: 1000 }, (_, id) => tools.read({ id })));
  } catch {
    await null;
  }
}
