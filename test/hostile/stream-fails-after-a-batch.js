// Tries: to have the host count batches as unread whose streams fail behind them, until no call has room.
// Ends: completed {"read":400,"row":"row 1"}
let read = 0;
for (let index = 0; index < 200; index += 1) {
  try {
    for await (const row of tools.bad_rows({ how: "throws" })) read += row === null ? 0 : 1;
  } catch {
    // The next one.
  }
}
return { read, row: (await tools.read({ id: 1 })).name };
