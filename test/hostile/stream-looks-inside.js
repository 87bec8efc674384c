// Tries: to find what the guest knows of a stream, and to read it with another's iterator.
// Ends: completed {"keys":[],"same":true,"foreign":["TypeError","TypeError"]}
const rows = tools.rows({ n: 3 });
const keys = Reflect.ownKeys(rows);
const make = rows[Symbol.asyncIterator];
const foreign = [];
for (const other of [{}, undefined]) {
  try {
    Reflect.apply(make, other, []);
  } catch (error) {
    foreign.push(error.name);
  }
}
const read = make.call(rows);
return { keys, same: read[Symbol.asyncIterator]() === read, foreign };
