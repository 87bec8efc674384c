import type { DecisionRecord, Header, JournalRecord } from "../../journal/record.ts";
import type { Tool } from "../../tools/tool.ts";
import { toolDigest } from "../../tools/tool-digest.ts";
import { Grants, type RememberedDecision } from "./grants.ts";
import { digestOfShown } from "../admit/read-input.ts";
import type { CallRequest, PastCall } from "../open-call.ts";

export type { RememberedDecision };

/**
 * Decisions among these records that also hold for later calls. `callOf` gives the state of a call that already has its
 * decision, `tools` the tools that the journal names for these calls.
 */
export function rememberedIn(
  records: readonly JournalRecord[],
  callOf: (id: string) => (Pick<CallRequest, "tool" | "inputText"> & PastCall) | undefined,
  tools: Header["tools"],
): readonly RememberedDecision[] {
  return records.flatMap((record) => {
    if (record.type !== "decision" || !(record.remember ?? record.grant ?? record.granted)) return [];
    const call = callOf(record.call);
    // The first decision of a call counts. A decision about an unknown outcome is about that call alone.
    const holds = call?.decision === record && call.ruling?.decision === "held";
    if (!holds || call.ruling?.code === "outcome_unknown") return [];
    const definition = tools.find(({ name }) => name === call.tool)?.digest;
    if (definition === undefined) return [];
    const { tool, inputText, converted, ruling } = call;
    const inputDigest = digestOfShown(inputText, { converted, digest: ruling?.inputDigest });
    return [{ tool, definition, inputDigest, decision: record }];
  });
}

export function grantsIn(remembered: readonly RememberedDecision[]): number {
  return remembered.filter(({ decision }) => decision.grant !== undefined).length;
}

/** The decisions of one execution that also hold for later calls: remembered ones, of which the later counts about the same input, and grants. */
export function rememberedDecisions(past: readonly RememberedDecision[] = []) {
  const decisions = new Map<string, RememberedDecision>();

  function note(one: RememberedDecision): void {
    self.grants.note(one);
    if (one.decision.remember === "execution") decisions.set(keyOf(one.tool, one.inputDigest), one);
  }
  const self = {
    grants: new Grants(),

    /** Keeps a decision about a call of this tool; nothing if it is about that call alone. */
    decide(tool: Tool, inputDigest: string, decision: DecisionRecord): void {
      if (decision.remember !== "execution" && !decision.grant) return;
      const { name, execute: handler } = tool;
      note({ tool: name, definition: toolDigest(tool), handler, inputDigest, decision });
    },

    /** A decision may be remembered and a grant: given twice, its grant would be two. */
    get all(): readonly RememberedDecision[] {
      return [...new Set([...self.grants.all, ...decisions.values()])];
    },

    /** The decision for a call of this tool with this input. The tool has to be the tool that was decided about. */
    of(tool: Tool, inputDigest: string): DecisionRecord | undefined {
      if (decisions.size === 0) return undefined;
      const { definition, handler = tool.execute, decision } = decisions.get(keyOf(tool.name, inputDigest)) ?? {};
      return handler === tool.execute && definition === toolDigest(tool) ? decision : undefined;
    },
  };
  for (const one of past) note(one);
  return self;
}

export type RememberedDecisions = ReturnType<typeof rememberedDecisions>;

function keyOf(tool: string, inputDigest: string): string {
  return JSON.stringify([tool, inputDigest]);
}
