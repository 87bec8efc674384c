// Tries: to be handed what the guest puts into its arrays.
// Ends: completed {"taken":0,"not":null,"pairs":{"a":1},"set":[1,2],"bytes":[3,4]}
let taken = 0;
for (let index = 0; index < 20; index += 1)
  Object.defineProperty(Array.prototype, index, { __proto__: null, get: () => "forged", set() { taken += 1; }, configurable: true });
const value = { not: NaN, pairs: new Map([["a", 1]]), set: new Set([1, 2]), bytes: Uint8Array.of(3, 4) };
taken = 0;
return { get taken() { return taken; }, ...value };
