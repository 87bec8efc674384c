// Tries: to look like a small record when it is measured, and to contain itself when it is written out.
// Ends: completed {"self":1}
let looks = 0;
const ring = { get self() { looks += 1; return looks === 1 ? 1 : ring; } };
return ring;
