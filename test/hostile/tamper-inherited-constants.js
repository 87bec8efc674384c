// Tries: to forbid the guest to write fields, by constants of the same name on all objects.
// Ends: failed handler_failed
for (const key of ["kind", "id", "code", "tool", "message", "name", "stack", "next", "line"])
  Object.defineProperty(Object.prototype, key, { __proto__: null, value: "constant", writable: false });
await tools.fail({ how: "error" });
