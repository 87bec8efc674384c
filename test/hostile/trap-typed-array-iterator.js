// Tries: to be typed arrays whose iterator has no end and whose length is a lie.
// Ends: completed {"bytes":[0,0,0,0],"short":[1]}
const bytes = new Uint8Array(4);
bytes[Symbol.iterator] = function* () { for (;;) yield 0; };
const short = Object.defineProperty(Uint8Array.of(1), "length", { value: 2 ** 40 });
return { bytes, short };
