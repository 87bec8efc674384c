// Tries: to have every property that the guest defines inherit a getter and a setter.
// Ends: completed ["ToolError","handler_failed","fail","ToolError","input_invalid"]
for (const key of ["get", "set"]) Object.defineProperty(Object.prototype, key, { __proto__: null, value() {}, configurable: true });
const failed = await tools.fail({ how: "error" }).catch((error) => error);
const refused = await tools.read({ id: 1n }).catch((error) => error);
return [failed.name, failed.code, failed.tool, refused.name, refused.code];
