import type { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { graverEffect } from "../../tools/effect.ts";
import type { AllowedQuestion, Tool } from "../../tools/tool.ts";
import type { OpenCall } from "../open-call.ts";
import type { OpenCalls } from "../open-calls.ts";
import { cannotWait } from "../sentences.ts";
import type { WorkScope } from "../work-scope.ts";
import { approvalAbout, askApproval } from "./approval.ts";
import { ALLOWED, askPolicy, type PolicyVerdict } from "./policy.ts";

export interface Rules {
  readonly execution: string;
  readonly scope: Pick<WorkScope, "policies" | "tenant" | "context">;
  /** Whether policies are asked about calls of this tool. They are not asked about the runtime's own tools, which reach nothing outside. */
  readonly isGoverned: (tool: Tool) => boolean;
  readonly inContext: ReturnType<typeof AsyncLocalStorage.snapshot>;
}

/** Without a reason, the tool's own rule says that the call needs approval. */
export type RuledCall = PolicyVerdict | { readonly type: "ask"; readonly reason?: undefined };

export function mayBeHeld({ tool }: OpenCall, { scope: { policies = [] }, isGoverned }: Rules): boolean {
  return tool.approvable || (policies.length > 0 && isGoverned(tool));
}

/** What the tool's own rule and the policies say of a call: the strictest counts. Never rejects. */
export async function ruleOn(call: OpenCall, input: unknown, rules: Rules): Promise<RuledCall> {
  const { policies = [] } = rules.scope;
  let ruled: RuledCall = call.tool.approvable && (await needsApproval(call, input, rules)) ? { type: "ask" } : ALLOWED;
  if (!rules.isGoverned(call.tool)) return ruled;
  for (const policy of policies) {
    if (call.isOver) break;
    const verdict = await rules.inContext(() => askPolicy(policy, requestOf(call, rules), () => call.shownInput()));
    if (verdict.type === "deny" || verdict.type === "none") return verdict;
    if (verdict.type === "ask" && ruled.reason === undefined) ruled = verdict;
  }
  return ruled;
}

function requestOf({ identity, tool, ruling, signal }: OpenCall, { execution, scope }: Rules) {
  const effect = graverEffect(ruling.effect, ruling.effectBefore);
  return { execution, ...identity, source: tool.source, effect, context: scope.context, tenant: scope.tenant, signal };
}

/** Only `false` says that the call needs no approval: a predicate that throws, or forgets to return, decides nothing. */
async function needsApproval(call: OpenCall, input: unknown, { inContext }: Rules): Promise<boolean> {
  try {
    const answer: unknown = await inContext(() => call.tool.needsApproval(input));
    return answer !== false;
  } catch (error) {
    call.noticed = error;
    return true;
  }
}

interface QuestionParts extends Pick<Rules, "execution" | "inContext"> {
  readonly calls: OpenCalls;
  readonly scope: WorkScope;
}

/** Asks the approver a question of a call's handler. False without an approver, and for a decision that would come later. */
export async function askQuestion(
  call: OpenCall,
  question: unknown,
  { calls, execution, inContext, scope }: QuestionParts,
): Promise<AllowedQuestion | false> {
  const { approve } = scope;
  if (!approve || calls.isGone(call)) return false;
  const text = JSON.stringify(question);
  const shown = { input: JSON.parse(text) as unknown, inputDigest: hash("sha256", text), grantsLeft: 0 };
  const request = { ...approvalAbout(call, execution, scope), ...shown };
  const endWaiting = calls.waits.beginBelow(call.identity.callId, { waitsForApproval: true });
  try {
    const asked = await inContext(() => askApproval(approve, request));
    call.noticed ??= asked.error ?? (asked.approval === "later" ? cannotWait(call.tool.name) : undefined);
    if (asked.approval === "none" || asked.approval === "later" || calls.isGone(call)) return false;
    return asked.approval.type === "approved" && { fields: asked.fields ?? {} };
  } finally {
    endWaiting();
  }
}
