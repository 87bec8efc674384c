// Tries: to get 8 GiB in one piece.
// Ends: stopped memoryBytes | failed RangeError
return new ArrayBuffer(8 * 1024 ** 3).byteLength;
