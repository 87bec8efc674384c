// Tries: to make a million calls without awaiting one.
// Ends: stopped cpuMs | stopped memoryBytes | stopped calls
for (let id = 0; id < 1_000_000; id += 1) void tools.read({ id });
return "flooded";
