// Tries: to have a label loop when it is made a key.
// Ends: stopped cpuMs
console.time({ toString() { for (;;); } });
