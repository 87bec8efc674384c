import { optionError } from "../../errors.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** What `--approve` takes: how calls that need approval are decided. */
export const APPROVE_MODES = ["ask", "all", "none", "later"] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];

/** `canWait`: the command keeps its execution in a journal, so that a decision can come later. */
export function parseApprove(text: string, canWait = false): ApproveMode {
  const found = APPROVE_MODES.find((mode) => mode === text);
  if (found === undefined) throw optionError("--approve", "ask, all, none or later", text);
  if (found === "later" && !canWait)
    throw new Failure(
      EXIT.usage,
      "--approve later needs a program that `portcullis run` keeps in a journal: add --journal FILE.",
    );
  return found;
}
