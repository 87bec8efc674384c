// Tries: to collect an asynchronous stream that has no end.
// Ends: stopped memoryBytes | stopped cpuMs
return (await Array.fromAsync({ async *[Symbol.asyncIterator]() { for (;;) yield new Array(100).fill(1); } })).length;
