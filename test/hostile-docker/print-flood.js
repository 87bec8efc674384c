// Tries: to print on standard output and standard error for ever, to fill the host's disk or memory.
// Ends: crashed bridge_broken | stopped cpuMs
const text = Buffer.alloc(1_000_000, "noise ");
for (;;) {
  writeAll(1, text);
  writeAll(2, text);
}
