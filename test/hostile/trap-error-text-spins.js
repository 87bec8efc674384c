// Tries: to loop when the guest reads the name of what was thrown.
// Ends: stopped cpuMs
const error = new Error("quiet");
error.name = { toString() { for (;;); } };
throw error;
