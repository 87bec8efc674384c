// Tries: to return a value once it is told to stop, as if it had finished in time.
// Ends: stopped wallMs
try {
  await tools.hang({});
} catch {
  return "finished";
}
