// Tries: to spend its time in a parser that cannot be interrupted.
// Ends: stopped cpuMs
const text = JSON.stringify(new Array(40_000).fill({ a: 1 }));
for (;;) JSON.parse(text);
