// Tries: to return 20 MB.
// Ends: stopped outputBytes
return "x".repeat(20_000_000);
