/* Preloaded by `--import`: at its end the process prints how many files of JavaScript it has loaded, and how many are zod's. */
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";

const loaded = new Set();
registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:")) loaded.add(url);
    return next(url, context);
  },
});
process.on("exit", () => {
  const zod = [...loaded].filter((url) => url.includes("/zod/")).length;
  writeSync(2, `${JSON.stringify({ files: loaded.size, zod })}\n`);
});
