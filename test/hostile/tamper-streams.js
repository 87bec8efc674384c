// Tries: to stand between the guest and its streams.
// Ends: completed {"sum":1999000,"failed":"2 handler_failed","left":1}
const { defineProperty } = Object;
const failing = () => { throw new Error("tampered"); };
for (const key of ["then", "catch", "finally"]) Promise.prototype[key] = failing;
for (const key of ["resolve", "reject", "all", "race", "withResolvers"]) Promise[key] = failing;
globalThis.Promise = failing;
for (const key of ["push", "shift", "slice", "splice", "concat", "at"]) Array.prototype[key] = failing;
for (const type of [Map, Set, WeakMap]) for (const key of ["get", "set", "has", "add", "delete", "forEach"]) type.prototype[key] = failing;
for (const key of ["defineProperty", "create", "getPrototypeOf", "setPrototypeOf", "keys"]) Object[key] = failing;
JSON.parse = failing;
defineProperty(Object.prototype, "done", { set: failing, get: failing });
defineProperty(Object.prototype, "items", { set: failing, get: failing });
defineProperty(Array.prototype, "0", { set: failing, get: failing });
Array.prototype[Symbol.iterator] = failing;
let sum = 0;
for await (const row of tools.rows({ n: 2000 })) sum += row.id;
let count = 0;
let failed;
try {
  for await (const row of tools.bad_rows({ how: "throws" })) count += 1;
} catch (error) {
  failed = `${count} ${error.code}`;
}
let left = 0;
for await (const row of tools.rows({})) {
  left += 1;
  break;
}
return { sum, failed, left };
