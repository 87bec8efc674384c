// Tries: to steer the reader's terminal, turn its text round and hide in it.
// Ends: failed
console.log("\u001b[2J\u001b]0;owned\u0007\u202egnp.exe\u200b\u{e0041}\r overwritten\u0000");
console.error("\u009b31m\u2066left\u2069\ufeff");
const error = new Error("\u001b[8mhidden\u202e\u0085");
error.name = "Error\u001b[31m";
throw error;
