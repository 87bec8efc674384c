// Tries: to have a text of 32 MB parsed into objects that take ten times as much.
// Ends: stopped memoryBytes | stopped cpuMs
return JSON.parse(`[${"{},".repeat(10_000_000)}{}]`).length;
