// Tries: to return 2^32 - 2 holes and one number.
// Ends: stopped frameBytes
const sparse = [];
sparse[2 ** 32 - 2] = 1;
return { sparse };
