// Tries: to read sixty-four streams in turns, and to call meanwhile.
// Ends: completed 6400 | stopped cpuMs
const all = Array.from({ length: 64 }, () => tools.rows({ n: 100, size: 1000 })[Symbol.asyncIterator]());
let count = 0;
for (let round = 0; round < 100; round += 1) {
  await tools.read({ id: round });
  for (const rows of all) count += (await rows.next()).done ? 0 : 1;
}
return count;
