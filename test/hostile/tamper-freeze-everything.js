// Tries: to freeze everything that the guest may change later, before the first use of its global objects.
// Ends: completed {"failed":"handler_failed","row":"row 1","used":["xn--4ca.example","6162",2,1,"AbortError","a"]}
const frozen = new Set();
const freeze = (thing) => {
  if ((typeof thing !== "object" && typeof thing !== "function") || thing === null || frozen.has(thing)) return;
  frozen.add(thing);
  for (const key of Reflect.ownKeys(thing)) {
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(thing, key);
    for (const part of [value, get, set]) freeze(part);
  }
  freeze(Reflect.getPrototypeOf(thing));
  try {
    Object.freeze(thing);
  } catch {}
};
freeze(globalThis);
for (const key of Reflect.ownKeys(globalThis)) freeze(globalThis[key]);
const failed = await tools.fail({ how: "error" }).catch((error) => error);
console.log({ printed: true });
await new Promise((resolve) => setTimeout(resolve, 1));
const used = [
  new URL("https://ä.example").hostname,
  Buffer.concat([Buffer.from("a"), Buffer.from("b")]).toString("hex"),
  new TextEncoder().encode("ä").length,
  structuredClone({ list: [1] }).list[0],
  AbortSignal.abort().reason.name,
  atob(btoa("a")),
];
return { failed: failed.code, row: (await tools.read({ id: 1 })).name, used };
