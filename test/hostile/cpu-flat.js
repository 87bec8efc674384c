// Tries: to flatten an array that contains itself.
// Ends: failed RangeError
const ring = [];
ring.push(ring);
return ring.flat(Infinity).length;
