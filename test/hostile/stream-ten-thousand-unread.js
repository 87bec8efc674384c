// Tries: to have the host fill ten thousand streams that it never reads.
// Ends: completed 64 | stopped cpuMs
const streams = [];
for (let index = 0; index < 9000; index += 1) streams.push(tools.rows({ size: 5000 }));
await new Promise((resolve) => setTimeout(resolve, 300));
let open = 0;
for (const stream of streams) {
  const rows = stream[Symbol.asyncIterator]();
  await rows.next().then(({ done }) => { open += done ? 0 : 1; }, () => {});
}
return open;
