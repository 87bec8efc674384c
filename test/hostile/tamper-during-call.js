// Tries: to wait with its changes until calls are under way.
// Ends: completed {"ms":20,"failed":"handler_failed"}
const slow = tools.slow({ ms: 20 });
const fails = tools.fail({ how: "error" });
fails.catch(() => {});
Map.prototype.get = Map.prototype.delete = () => undefined;
JSON.parse = () => ({ forged: true });
String.prototype.slice = String.prototype.indexOf = () => -1;
Object.defineProperty(Object.prototype, "ok", { get: () => false, set() {} });
Promise.prototype.then = () => { throw new Error("then"); };
const { ms } = await slow;
let failed;
try {
  await fails;
} catch (error) {
  failed = error.code;
}
return { ms, failed };
