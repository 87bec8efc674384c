// Tries: to find a handle of the host by walking every object that a program can reach, also the promises of its calls.
// Ends: completed {"walked":true,"found":[]}
const seen = new Set();
const found = [];
const open = [
  ...Object.getOwnPropertyNames(globalThis).map((name) => globalThis[name]),
  globalThis, tools, ToolError, (function () { return this; })(), tools.read({ id: 1 }), tools.fail({ how: "error" }).catch((error) => open.push(error)),
];
// A property that the promise of a call does not have is an error.
const read = (thing, name) => {
  try {
    return thing[name];
  } catch {
    return undefined;
  }
};
await tools.read({ id: 1 });
while (open.length > 0) {
  const thing = open.pop();
  if ((typeof thing !== "object" && typeof thing !== "function") || thing === null || seen.has(thing)) continue;
  seen.add(thing);
  if (seen.size > 20_000) break;
  for (const name of ["applySync", "applyIgnored", "derefInto", "copySync", "release", "dispose", "binding", "_linkedBinding"])
    if (typeof read(thing, name) === "function" && !/native code/.test(Function.prototype.toString.call(read(thing, name)))) found.push(name);
  for (const name of ["applySync", "derefInto", "copySync", "binding", "mainModule", "dlopen"]) if (Object.hasOwn(thing, name)) found.push(name);
  open.push(Object.getPrototypeOf(thing));
  for (const key of Reflect.ownKeys(thing)) {
    const { value, get, set } = Object.getOwnPropertyDescriptor(thing, key) ?? {};
    open.push(value, get, set);
  }
}
return { walked: seen.size > 500, found };
