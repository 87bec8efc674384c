// Tries: to throw an error each of whose fields is a trap.
// Ends: failed Error
const error = new Error();
for (const key of ["name", "message", "stack", "code", "tool", "errors", "cause"])
  Object.defineProperty(error, key, { get() { throw error; } });
throw error;
