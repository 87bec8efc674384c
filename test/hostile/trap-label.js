// Tries: to have a label loop when it is made a key.
// Ends: stopped runningMs
console.time({ toString() { for (;;); } });
