// Tries: to return what fits a frame in characters, and not in bytes.
// Ends: stopped outputBytes
return "\u20ac".repeat(3_000_000);
