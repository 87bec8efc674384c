// Tries: to make garbage faster than it is collected, and to keep none of it.
// Ends: stopped cpuMs | stopped memoryBytes
for (let round = 0; ; round += 1) {
  const block = new Array(100_000).fill(round);
  if (block.length === 1) break;
}
