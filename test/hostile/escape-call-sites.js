// Tries: to take the guest's functions, and what they are called with, from the frames of a stack.
// Ends: completed {"frames":true,"taken":[]}
"use strict";
let frames = 0;
const taken = [];
Error.prepareStackTrace = (_, sites) => {
  for (const site of sites) {
    frames += 1;
    for (const read of ["getThis", "getFunction", "getEvalOrigin", "getScriptNameOrSourceURL"]) {
      const got = site[read]?.();
      if (typeof got === "function" || (typeof got === "object" && got !== null)) taken.push(`${read} ${typeof got} of ${site.getFunctionName()}`);
      if (typeof got === "string" && /[\\/]/.test(got)) taken.push(got);
    }
  }
  return "";
};
const look = () => void new Error().stack;
console.log({ toJSON() { look(); return 1; } }, new Proxy({}, { get: look, ownKeys: () => { look(); return []; } }));
await tools.read({ get id() { look(); return 1; } });
void (await tools.fail({ how: "error" }).catch((error) => error.stack));
await new Promise((resolve) => setTimeout(() => resolve(look()), 1));
queueMicrotask(look);
await null;
return { frames: frames > 10, taken };
