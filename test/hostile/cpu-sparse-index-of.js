// Tries: to search all the holes of a sparse array, several times over.
// Ends: stopped cpuMs
const sparse = [];
sparse[2 ** 32 - 2] = 1;
for (;;) sparse.includes(2);
