// Tries: to use a core in turns too short for each to be noticed.
// Ends: stopped cpuMs
for (;;) {
  await tools.read({ id: 1 });
  for (let round = 0; round < 2_000_000; round += 1) Math.sqrt(round);
}
