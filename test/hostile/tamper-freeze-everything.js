// Tries: to freeze all that the guest might still want to change.
// Ends: completed {"failed":"handler_failed","row":"row 1"}
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
return { failed: failed.code, row: (await tools.read({ id: 1 })).name };
