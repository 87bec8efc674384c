// Tries: to loop once it is told to stop.
// Ends: stopped wallMs
try {
  await tools.hang({});
} catch {
  for (;;);
}
