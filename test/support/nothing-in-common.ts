import { onTestFinished } from "vitest";
import { heldInCommon } from "../../src/base/index.ts";

/** Empties what the process holds in common, as it is counted, for one test: other files have left something there. */
export function nothingInCommon(): void {
  const before = { ...heldInCommon };
  Object.assign(heldInCommon, { bytes: 0, allowed: 32 * 1024 * 1024 });
  onTestFinished(() => void Object.assign(heldInCommon, before));
}
