// Tries: to stand in every call the guest makes, by what all functions inherit.
// Ends: completed {"seen":0,"failed":"handler_failed","map":{"a":1}}
let seen = 0;
const spy = () => { seen += 1; throw new Error("spy"); };
for (const key of ["call", "apply", "bind", "toString"]) Function.prototype[key] = spy;
Reflect.construct = Reflect.apply = Object.defineProperty = Object.keys = Object.getPrototypeOf = Object.freeze = spy;
Array.isArray = Array.from = Number.isFinite = Math.max = Math.min = Math.floor = ArrayBuffer.isView = spy;
let failed;
try {
  await tools.fail({ how: "error" });
} catch (error) {
  failed = error.code;
}
console.log({ printed: [1, 2, 3] }, new Error("printed"));
return { seen, failed, map: new Map([["a", 1]]) };
