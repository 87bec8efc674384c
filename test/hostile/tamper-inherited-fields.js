// Tries: to take the place of the fields that the guest writes and reads, by properties of all objects.
// Ends: completed ["ToolError","handler_failed","fail"]
for (const key of ["kind", "id", "ok", "now", "code", "tool", "notes", "value", "body", "seed", "open", "stream", "message", "next"])
  Object.defineProperty(Object.prototype, key, { __proto__: null, get: () => "forged", set() {}, configurable: true });
const failed = await tools.fail({ how: "error" }).catch((error) => error);
return [failed.name, failed.code, failed.tool];
