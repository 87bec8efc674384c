// Tries: to make the engine abort in a single request for more memory than it can have.
// Ends: stopped memoryBytes | stopped cpuMs
return Array.from({ length: 1e9 }, (_, index) => index).length;
