// Tries: to stand in the making and reading of every error.
// Ends: failed ToolError: fail failed
Error.prepareStackTrace = () => { throw new Error("prepared"); };
Error.captureStackTrace = () => { throw new Error("captured"); };
Error.stackTraceLimit = { valueOf() { throw new Error("limit"); } };
for (const key of ["name", "message", "toString", "stack", "code", "tool"])
  for (const { prototype } of [Error, TypeError, RangeError])
    Object.defineProperty(prototype, key, { get: () => "forged", set() {}, configurable: true });
await tools.fail({ how: "error" });
