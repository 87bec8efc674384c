// Tries: to return what fits a frame in characters, and not in bytes.
// Ends: stopped frameBytes
return "\u20ac".repeat(3_000_000);
