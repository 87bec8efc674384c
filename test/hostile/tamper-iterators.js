// Tries: to see what the guest spreads and walks, by the iterators of arrays.
// Ends: completed {"seen":0,"fired":"with values"}
let seen = 0;
const iterator = Object.getPrototypeOf([][Symbol.iterator]());
const { next } = iterator;
const { values } = Array.prototype;
const map = new Map([[1, 2]]);
let settle;
const settled = new Promise((resolve) => {
  settle = resolve;
});
setTimeout((value) => settle(value), 1, "with values");
Array.prototype[Symbol.iterator] = function () { seen += 1; return Reflect.apply(values, this, []); };
iterator.next = function () { seen += 1; return Reflect.apply(next, this, []); };
const fired = await settled;
console.log("printed", { rows: [1, 2, 3], map, bytes: new Uint8Array(2) });
return { get seen() { return seen; }, fired };
