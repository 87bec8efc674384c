// Tries: to catch its own termination and to go on.
// Ends: stopped cpuMs
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
