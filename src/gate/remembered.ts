import { hash } from "node:crypto";
import type { CallRecord, DecisionRecord } from "../journal/record.ts";

/** A decision that also holds for later calls of its execution with the same tool and the same input. */
export interface RememberedDecision {
  readonly tool: string;
  /** SHA-256 in hex of the input's JSON text. */
  readonly inputDigest: string;
  readonly decision: DecisionRecord;
}

/** What the journal says of a call when a decision about it was appended. */
export interface DecidedCall {
  readonly tool: string;
  /** JSON text. */
  readonly inputText: string;
  readonly decided?: CallRecord | undefined;
  readonly decision?: DecisionRecord | undefined;
}

/** A decision that also holds for later calls; undefined for any other, and for one that does not count. The call has it already. */
export function rememberedDecision(
  call: DecidedCall | undefined,
  decision: DecisionRecord,
): RememberedDecision | undefined {
  if (!decision.remember || call?.decision !== decision || call.decided?.decision !== "held") return undefined;
  if (call.decided.code === "outcome_unknown") return undefined;
  return { tool: call.tool, inputDigest: hash("sha256", call.inputText), decision };
}

/** The decisions of one execution that are to be remembered. Of two about the same input the later one counts. */
export class RememberedDecisions {
  readonly #decisions = new Map<string, DecisionRecord>();

  constructor(past: readonly RememberedDecision[] = []) {
    for (const one of past) this.note(one);
  }

  /** Does nothing for a decision that is about its call alone. */
  note({ tool, inputDigest, decision }: RememberedDecision): void {
    if (decision.remember === "execution") this.#decisions.set(keyOf(tool, inputDigest), decision);
  }

  of(tool: string, inputDigest: string): DecisionRecord | undefined {
    return this.#decisions.size === 0 ? undefined : this.#decisions.get(keyOf(tool, inputDigest));
  }
}

function keyOf(tool: string, inputDigest: string): string {
  return JSON.stringify([tool, inputDigest]);
}
