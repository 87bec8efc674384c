import { hash } from "node:crypto";
import type { AllowedQuestion } from "../../tools/tool.ts";
import type { OpenCall } from "../open-call.ts";
import type { OpenCalls } from "../open-calls.ts";
import { cannotWait } from "../sentences.ts";
import type { WorkScope } from "../work-scope.ts";
import { askApproval, toolAbout } from "./approval.ts";
import type { Rules } from "./rule-on.ts";

export interface QuestionParts extends Pick<Rules, "execution" | "inContext"> {
  readonly calls: OpenCalls;
  readonly scope: WorkScope;
}

/** Asks the approver a question of a call's handler. False without an approver, and for a decision that would come later. */
export async function askQuestion(
  call: OpenCall,
  question: unknown,
  { calls, execution, inContext, scope }: QuestionParts,
): Promise<AllowedQuestion | false> {
  const { tenant, context, approve } = scope;
  if (!approve || calls.isGone(call)) return false;
  const text = JSON.stringify(question);
  const { identity, signal } = call;
  const about = toolAbout(call, call.decided.effect);
  const inputDigest = hash("sha256", text);
  const shown = { input: JSON.parse(text) as unknown, inputDigest };
  const request = { execution, ...identity, ...about, ...shown, grantsLeft: 0, tenant, context, signal };
  const endWaiting = calls.waits.beginBelow(identity.callId, { waitsForApproval: true });
  try {
    const asked = await inContext(() => askApproval(approve, request));
    call.noticed ??= asked.error ?? (asked.approval === "later" ? cannotWait(call.tool.name) : undefined);
    if (asked.approval === "none" || asked.approval === "later" || calls.isGone(call)) return false;
    return asked.approval.type === "approved" && { fields: asked.fields ?? {} };
  } finally {
    endWaiting();
  }
}
