// Tries: to let the engine of regular expressions backtrack for years.
// Ends: stopped runningMs
return /^(?:a+)+$/.test(`${"a".repeat(50)}b`);
