// Tries: to stand between the guest and its promises.
// Ends: completed {"row":"row 1","failed":"handler_failed"}
for (const key of ["then", "catch", "finally"]) Promise.prototype[key] = () => { throw new Error(key); };
for (const key of ["resolve", "reject", "all", "race", "withResolvers"]) Promise[key] = () => { throw new Error(key); };
globalThis.Promise = function () { throw new Error("Promise"); };
const row = await tools.read({ id: 1 });
let failed;
try {
  await tools.fail({ how: "error" });
} catch (error) {
  failed = error.code;
}
await { then: (resolve) => queueMicrotask(resolve) };
await { then: (resolve) => setTimeout(resolve, 1) };
return { row: row.name, failed };
