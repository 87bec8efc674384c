import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: object) => void;
// Else each context that is made later has a global `gc`, and so has each program of a sandbox in this process.
setFlagsFromString("--no-expose-gc");

/** Collects all garbage of this process at once; `options` are those of V8's `gc`. */
export function collectGarbage(options?: object): void {
  if (options) collect(options);
  else collect();
}
