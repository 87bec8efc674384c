// Tries: to fill the heap with captured stacks of thousands of frames.
// Ends: stopped memoryBytes | stopped cpuMs
Error.stackTraceLimit = Infinity;
const kept = [];
const dig = (depth) => {
  if (depth > 0) return dig(depth - 1);
  for (;;) kept.push(new Error("deep"));
};
dig(5000);
