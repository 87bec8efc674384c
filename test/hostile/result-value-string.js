// Tries: to return 20 MB.
// Ends: stopped frameBytes
return "x".repeat(20_000_000);
