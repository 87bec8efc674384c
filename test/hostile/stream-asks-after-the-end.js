// Tries: to ask on after the end, after leaving, and in turns.
// Ends: completed {"after":[true,true,true],"left":[false,true,true,true]}
const isDone = async (rows) => (await rows.next()).done;
const read = tools.rows({ n: 1 })[Symbol.asyncIterator]();
await read.next();
const after = [await isDone(read), await isDone(read), (await read.return()).done];
const rows = tools.rows({})[Symbol.asyncIterator]();
const left = [await isDone(rows), (await rows.return()).done, (await rows.return()).done, await isDone(rows)];
return { after, left };
