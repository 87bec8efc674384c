// Tries: to let the engine of regular expressions backtrack for years.
// Ends: stopped cpuMs
return /^(?:a+)+$/.test(`${"a".repeat(50)}b`);
