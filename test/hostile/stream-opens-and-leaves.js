// Tries: to open streams and leave them, up to the limit of calls.
// Ends: stopped calls | stopped cpuMs | stopped wallMs
for (;;) {
  for await (const row of tools.rows({})) {
    if (row.id === 1) break;
  }
}
