import type { DecisionRecord } from "../journal/record.ts";

/** A decision that also holds for later calls of its execution with the same tool and the same input. */
export interface RememberedDecision {
  readonly tool: string;
  /** SHA-256 in hex of the input's JSON text. */
  readonly inputDigest: string;
  readonly decision: DecisionRecord;
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
