// Tries: to allocate in one builtin more than the heap holds, again and again doubled.
// Ends: stopped memoryBytes | stopped cpuMs
let array = [1, 2, 3, 4];
for (;;) array = array.concat(array);
