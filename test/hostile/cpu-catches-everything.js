// Tries: to catch its own termination and to go on.
// Ends: stopped runningMs
function again() {
  try {
    for (;;);
  } catch {
    again();
  } finally {
    again();
  }
}
again();
