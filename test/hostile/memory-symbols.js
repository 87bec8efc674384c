// Tries: to fill the engine's own table of registered symbols.
// Ends: stopped memoryBytes | stopped cpuMs
const padding = "s".repeat(4000);
for (let index = 0; ; index += 1) Symbol.for(padding + index);
