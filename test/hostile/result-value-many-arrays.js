// Tries: to have the host parse, walk and sum up as many values as fit a frame.
// Ends: completed | stopped frameBytes | stopped cpuMs
return Array.from({ length: 300_000 }, () => []);
