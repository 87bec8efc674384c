import type { Approve } from "../../gate/approve/approval.ts";
import type { Policy } from "../../gate/approve/policy.ts";

/** A call that a program makes, as the rules of a loop are asked about it. */
export interface NestedCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
}

/** What a loop's own rule says: nothing, that it is approved, that a person decides, or that it is denied. */
export type LoopVerdict = "unruled" | "approved" | "ask" | { readonly deny: string };

export type LoopRule = (call: NestedCall) => Promise<LoopVerdict> | LoopVerdict;

/**
 * The rule of a loop, as the gate takes rules: it is one more policy, so it never loosens a rule of the tool or of the
 * runtime. Calls that it approves by itself are approved in its name if another rule holds them, and the others wait for
 * a person. What the rule throws, or says wrongly, denies the call, as from any policy.
 */
export function gateRuleOf(rule: LoopRule, by: string): { readonly policy: Policy; readonly approve: Approve } {
  const approved = new Set<string>();
  return {
    policy: async ({ execution, callId, tool, input }) => {
      const verdict = await rule({ callId, tool, input });
      if (verdict === "approved") approved.add(`${execution}/${callId}`);
      return verdict === "approved" || verdict === "unruled" ? "allow" : verdict;
    },
    approve: ({ execution, callId }) => (approved.has(`${execution}/${callId}`) ? { allow: true, by } : "later"),
  };
}
