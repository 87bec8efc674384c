// Tries: to have an integer of 60 million bits written in decimal.
// Ends: stopped cpuMs | stopped memoryBytes
return String(3n ** 38_000_000n).length;
