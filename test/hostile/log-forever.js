// Tries: to print until it is stopped, on both streams in turn.
// Ends: stopped cpuMs
for (;;) {
  console.log("out");
  console.error("error");
}
