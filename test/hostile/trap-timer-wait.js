// Tries: to have the wait of a timer loop when it is made a number.
// Ends: stopped cpuMs
setTimeout(() => {}, { valueOf() { for (;;); } });
