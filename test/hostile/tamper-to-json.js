// Tries: to have a say in every frame, by a toJSON on all that can have one.
// Ends: completed {"mine":null}
let asked = 0;
const forged = function () {
  asked += 1;
  return asked > 20 ? this : { kind: "settled", ok: true, notes: ["forged"] };
};
for (const { prototype } of [Object, Array, Function, Boolean]) prototype.toJSON = forged;
String.prototype.toJSON = Number.prototype.toJSON = () => "never asked";
console.log("printed");
setTimeout(() => {}, 1);
await tools.read({ id: 2 }).catch(() => {});
await tools.fail({ how: "error" }).catch(() => {});
asked = 100;
return { mine: NaN };
