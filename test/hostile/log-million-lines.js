// Tries: to print a million lines.
// Ends: completed "printed" | stopped cpuMs
for (let index = 0; index < 1_000_000; index += 1) console.log(`line ${index}`);
return "printed";
