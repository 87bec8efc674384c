// Tries: to look like a small record when it is measured, and to be 8 MB when it is written out.
// Ends: completed {"value":"small"}
let looks = 0;
return { get value() { looks += 1; return looks === 1 ? "small" : "x".repeat(8_000_000); } };
