// Tries: to put a trap under the global object, for every name the guest may look for.
// Ends: completed {"looked":[],"row":"row 1"}
const looked = [];
const trap = new Proxy({}, {
  has: (_, key) => { looked.push(String(key)); return false; },
  get: (_, key) => { looked.push(String(key)); return undefined; },
});
Object.setPrototypeOf(globalThis, trap);
const row = await tools.read({ id: 1 });
const seen = [...looked];
Object.setPrototypeOf(globalThis, null);
return { looked: seen, row: row.name };
