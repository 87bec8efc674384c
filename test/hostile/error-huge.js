// Tries: to carry 60 MB out in the fields of an error.
// Ends: failed
const huge = "\u001b".repeat(5_000_000);
const error = new Error(huge);
Object.assign(error, { name: huge, code: huge, tool: huge, stack: `program.js:1:1${huge}` });
throw error;
