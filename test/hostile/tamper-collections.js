// Tries: to see the guest's open calls and timers, by taking the place of what Map and Set can do.
// Ends: completed {"seen":0,"row":"row 1","map":{"a":1}}
let seen = 0;
for (const { prototype } of [Map, Set, WeakMap, WeakSet])
  for (const key of Object.getOwnPropertyNames(prototype))
    if (key !== "constructor") Object.defineProperty(prototype, key, { get() { seen += 1; return () => { throw new Error(key); }; } });
const map = new Map();
Object.getPrototypeOf(map);
const row = await tools.read({ id: 1 });
await new Promise((resolve) => setTimeout(resolve, 1));
return { seen, row: row.name, map: { a: 1 } };
