// Tries: to print one line of 400 MB, put together from small parts.
// Ends: stopped memoryBytes | completed "printed"
console.log(...new Array(100).fill("x".repeat(4_000_000)));
return "printed";
