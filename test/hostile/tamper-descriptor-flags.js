// Tries: to have the guest's properties be other than it says: not writable, with other values.
// Ends: failed ToolError: fail failed
Object.assign(Object.prototype, { value: "forged", writable: false, enumerable: true, configurable: false });
await tools.fail({ how: "error" });
