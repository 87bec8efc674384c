import { optionError } from "../../errors.ts";

/** What `--approve` takes: how calls that need approval are decided. */
export const APPROVE_MODES = ["ask", "all", "none"] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];

export function parseApprove(text: string): ApproveMode {
  const found = APPROVE_MODES.find((mode) => mode === text);
  if (found === undefined) throw optionError("--approve", "ask, all or none", text);
  return found;
}
