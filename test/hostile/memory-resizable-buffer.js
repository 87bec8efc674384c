// Tries: to grow a buffer in place to 4 GiB, which no heap limit counts.
// Ends: failed TypeError: resize is not a function
const buffer = new ArrayBuffer(8, { maxByteLength: 4 * 1024 ** 3 });
for (let bytes = 1024; ; bytes *= 2) buffer.resize(bytes);
