// Tries: to find a handle of the host, by walking every object that can be reached from here.
// Ends: completed {"walked":true,"found":[]}
const seen = new Set();
const found = [];
const open = [globalThis, tools, ToolError, (function () { return this; })(), tools.read({ id: 1 }), tools.fail({ how: "error" }).catch((error) => open.push(error))];
await tools.read({ id: 1 });
while (open.length > 0) {
  const thing = open.pop();
  if ((typeof thing !== "object" && typeof thing !== "function") || thing === null || seen.has(thing)) continue;
  seen.add(thing);
  if (seen.size > 20_000) break;
  for (const name of ["applySync", "applyIgnored", "derefInto", "copySync", "release", "dispose", "binding", "_linkedBinding"])
    if (typeof thing[name] === "function" && !/native code/.test(Function.prototype.toString.call(thing[name]))) found.push(name);
  for (const name of ["applySync", "derefInto", "copySync", "binding", "mainModule", "dlopen"]) if (Object.hasOwn(thing, name)) found.push(name);
  open.push(Object.getPrototypeOf(thing));
  for (const key of Reflect.ownKeys(thing)) {
    const { value, get, set } = Object.getOwnPropertyDescriptor(thing, key) ?? {};
    open.push(value, get, set);
  }
}
return { walked: seen.size > 500, found };
