// Tries: to fill the space for compiled code with functions, each another one.
// Ends: stopped memoryBytes | stopped cpuMs
const kept = [];
for (;;) kept.push(new Function("value", `${"value = value * 3 + 1; ".repeat(500)} return value + ${kept.length};`));
