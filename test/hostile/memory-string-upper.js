// Tries: to let a short rope become a flat string of half a gigabyte.
// Ends: stopped memoryBytes
return "ß".repeat(2 ** 28).toUpperCase().length;
