import { hash } from "node:crypto";
import type { CallRecord, DecisionRecord, JournalRecord } from "../journal/record.ts";

/** A decision that also holds for later calls of its execution with the same tool and the same input. */
export interface RememberedDecision {
  readonly tool: string;
  /** SHA-256 in hex of the input's JSON text. */
  readonly inputDigest: string;
  readonly decision: DecisionRecord;
}

/** The call's facts in the journal when a decision about it was appended. */
interface DecidedCall {
  readonly tool: string;
  /** JSON text. */
  readonly inputText: string;
  readonly decided?: CallRecord | undefined;
  readonly decision?: DecisionRecord | undefined;
}

/** Decisions among these records that also hold for later calls. Their calls have the decisions already. */
export function rememberedIn(
  records: readonly JournalRecord[],
  callOf: (id: string) => DecidedCall | undefined,
): readonly RememberedDecision[] {
  return records.flatMap((record) => {
    if (record.type !== "decision" || !record.remember) return [];
    const call = callOf(record.call);
    // The first decision of a call counts, and one about an unknown outcome is about that alone.
    const holds = call?.decision === record && call.decided?.decision === "held";
    if (!holds || call.decided?.code === "outcome_unknown") return [];
    return [{ tool: call.tool, inputDigest: hash("sha256", call.inputText), decision: record }];
  });
}

/** A decision about a tool does not hold for a changed tool of the same name. */
export function stillMeant(
  remembered: readonly RememberedDecision[],
  changedTools: readonly string[],
): readonly RememberedDecision[] {
  return remembered.filter(({ tool }) => !changedTools.includes(tool));
}

/** The decisions of one execution that are to be remembered. Of two about the same input the later one counts. */
export class RememberedDecisions {
  readonly #decisions = new Map<string, RememberedDecision>();

  constructor(past: readonly RememberedDecision[] = []) {
    for (const one of past) this.note(one);
  }

  /** Does nothing for a decision that is about its call alone. */
  note(one: RememberedDecision): void {
    if (one.decision.remember === "execution") this.#decisions.set(keyOf(one.tool, one.inputDigest), one);
  }

  get all(): readonly RememberedDecision[] {
    return [...this.#decisions.values()];
  }

  of(tool: string, inputDigest: string): DecisionRecord | undefined {
    return this.#decisions.size === 0 ? undefined : this.#decisions.get(keyOf(tool, inputDigest))?.decision;
  }
}

function keyOf(tool: string, inputDigest: string): string {
  return JSON.stringify([tool, inputDigest]);
}
