// Tries: to leave streams in the turn in which it opens them.
// Ends: stopped calls | stopped cpuMs | stopped wallMs
for (;;) {
  const rows = tools.rows({})[Symbol.asyncIterator]();
  await rows.return();
  await tools.read({ id: 1 });
}
