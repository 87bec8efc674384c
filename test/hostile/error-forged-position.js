// Tries: to point at a line that is not there, and to have it quoted.
// Ends: failed Error: where
const error = new Error("where");
error.stack = "at program.js:999999999:999999999 at program.js:1:1";
throw error;
