// Tries: to flood the log once it is told to stop.
// Ends: stopped wallMs
try {
  await tools.hang({});
} catch {
  for (;;) console.log("x".repeat(10_000));
}
