// Tries: to print from inside of what is being printed, without an end.
// Ends: completed "printed" | stopped cpuMs | failed RangeError
const value = { get self() { console.log(value); return 1; } };
console.log(value);
return "printed";
