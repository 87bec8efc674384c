// Tries: to make a million calls, one after the other.
// Ends: stopped calls | stopped cpuMs
for (let id = 0; id < 1_000_000; id += 1) await tools.read({ id });
return "flooded";
