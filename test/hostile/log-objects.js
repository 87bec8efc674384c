// Tries: to print what cannot be printed.
// Ends: completed "printed"
const ring = {};
ring.ring = ring;
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
const values = [
  ring,
  proxy,
  new Proxy({}, { get: () => { throw proxy; }, ownKeys: () => { throw ring; } }),
  new Proxy(() => {}, { get: () => { throw proxy; } }),
  Symbol("symbol"),
  10n ** 1000n,
  Object.create(null),
  Object.assign(() => {}, { toString: null }),
  class { static get name() { throw new Error("name"); } },
  { toJSON() { throw { toString: () => { throw 1; } }; } },
  new Error("message", { cause: ring }),
  Object.defineProperty(new Error(), "message", { get() { throw proxy; } }),
];
for (const value of values) {
  try {
    console.log(value);
  } catch {
    console.log("threw");
  }
}
return "printed";
