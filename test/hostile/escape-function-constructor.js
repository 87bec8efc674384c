// Tries: to reach the process of the engine through the constructors of everything that a program is given.
// Ends: completed []
const found = [];
const things = [this, globalThis, tools, tools.read, tools.read({ id: 1 }), ToolError, console, console.log, crypto, performance, setTimeout, Date, Math.random, Intl.DateTimeFormat.prototype, Buffer, Buffer.from("a"), URL, new URL("https://a.example"), structuredClone, new AbortController().signal];
try {
  await tools.fail({ how: "error" });
} catch (error) {
  things.push(error, error.constructor, error.message);
}
things.push(await tools.strange({}), await tools.read({ id: 1 }));
for (const thing of things) {
  const makers = [thing?.constructor?.constructor, thing?.__proto__?.constructor?.constructor, Object.getPrototypeOf(async () => {}).constructor];
  for (const make of makers) {
    if (typeof make !== "function") continue;
    for (const name of ["process", "require", "module", "global", "fetch", "Deno", "ivm", "_ivm"]) {
      try {
        if ((await make(`return typeof ${name}`)()) !== "undefined") found.push(name);
      } catch {}
    }
  }
}
// The guest has a Buffer of its own. That of node would have its constructor from another realm.
if (!(Buffer instanceof Function) || "utf8Write" in Buffer.prototype) found.push("Buffer");
return found;
