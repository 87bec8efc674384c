// Tries: to have the first unhandled rejection taken for the program's end.
// Ends: completed "caught later"
const early = Promise.reject(new Error("early"));
await tools.read({ id: 1 });
try {
  await early;
} catch {
  return "caught later";
}
