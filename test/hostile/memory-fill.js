// Tries: to stay in one builtin that allocates, where no heap limit is looked at.
// Ends: stopped memoryBytes | stopped cpuMs
return new Array(1e8).fill(0).length;
