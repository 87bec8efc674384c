// Tries: to leave the guest nothing: every property of every global and of every prototype deleted.
// Ends: completed "still here"
const { ownKeys, deleteProperty, getPrototypeOf } = Reflect;
const kept = tools;
const emptied = new Set([kept]);
const has = Set.prototype.has.bind(emptied);
const add = Set.prototype.add.bind(emptied);
const empty = (thing) => {
  if ((typeof thing !== "object" && typeof thing !== "function") || thing === null || has(thing)) return;
  add(thing);
  const keys = ownKeys(thing);
  for (let index = 0; index < keys.length; index += 1) {
    try {
      empty(thing[keys[index]]);
    } catch {}
    deleteProperty(thing, keys[index]);
  }
  empty(getPrototypeOf(thing));
};
empty(globalThis);
await kept.read({ id: 1 });
return "still here";
