// Tries: to climb from a function to its caller, into the guest.
// Ends: completed {"climbed":true,"found":[]}
let climbed = 0;
const found = [];
function reads() {
  for (let caller = arguments.callee, depth = 0; depth < 20; depth += 1) {
    try {
      caller = caller.caller;
    } catch {
      break;
    }
    if (caller === null) break;
    climbed += 1;
    const ownText = String(caller).startsWith("async function anonymous(\n) {\n// Tries:");
    if (caller !== reads && caller !== outer && !ownText) found.push(String(caller).slice(0, 80));
  }
  return 1;
}
function outer() {
  return reads();
}
outer();
console.log(Object.defineProperty({}, "value", { get: reads, enumerable: true }), { toJSON: reads });
await tools.read(Object.defineProperty({}, "id", { get: reads, enumerable: true }));
setTimeout(reads, 0);
await tools.slow({ ms: 5 });
return { climbed: climbed > 0, found };
