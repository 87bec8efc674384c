// Tries: to change what is sent, by changing built-ins and the functions that keep values.
// Ends: completed [1,"TypeError","input_invalid"]
Object.prototype.name = "../../a";
Object.prototype.toJSON = () => ({ name: "../../b" });
delete Object.prototype.toJSON;
Array.prototype[Symbol.iterator] = function* () {
  yield "../../c";
};
String.prototype.toString = () => "../../d";
let failed;
try {
  "use strict";
  Object.defineProperty(save, "name", { value: "save_artifact" });
} catch (error) {
  failed = error.name;
}
await save("a", 1);
const value = await load("a");
const code = await tools.read({ id: 1, name: undefined, artifact: "x" }).catch((error) => error.code);
return [value, failed, code];
