// Tries: to send commands that cancel each other in turn after turn, for the host to keep.
// Ends: stopped totalBytes | stopped cpuMs | stopped memoryBytes
for (;;) {
  for (let index = 0; index < 50_000; index += 1) clearTimeout(setTimeout(() => {}, 1000));
  await new Promise((resolve) => setTimeout(resolve, 1));
}
