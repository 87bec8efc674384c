import { onTestFinished } from "vitest";
import { heldInCommon } from "../../src/base/index.ts";
import { storedSchema, validate } from "../../src/tools/schema.ts";

/** Empties what the process holds in common for one test: other files have left something there. */
export function nothingInCommon(): void {
  const { allowed } = heldInCommon;
  driveOut();
  heldInCommon.allowed = 32 * 1024 * 1024;
  onTestFinished(() => {
    driveOut();
    heldInCommon.allowed = allowed;
  });
}

/** The next schema that is compiled drives out what there is no room for: all of it, whatever other files have counted. */
function driveOut(): void {
  Object.assign(heldInCommon, { bytes: Number.POSITIVE_INFINITY, allowed: 0 });
  void validate(storedSchema({ const: 0 }), 0);
  heldInCommon.bytes = 0;
}
