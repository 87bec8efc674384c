// Tries: to read what the guest cuts out of frames and stacks, by what all texts and patterns inherit.
// Ends: failed Error: at its own line
let seen = 0;
for (const { prototype } of [String, RegExp])
  for (const key of Reflect.ownKeys(prototype)) {
    if (key === "constructor" || key === Symbol.toPrimitive) continue;
    try {
      Object.defineProperty(prototype, key, { get() { seen += 1; throw new Error("seen"); }, configurable: true });
    } catch {}
  }
await tools.read({ id: 1 });
console.log({ printed: NaN });
if (seen > 0) throw new Error(`seen ${seen}`);
throw new Error("at its own line");
