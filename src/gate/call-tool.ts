import { randomUUID } from "node:crypto";
import { ExecutionLog } from "../journal/execution-log.ts";
import type { Journal } from "../journal/journal.ts";
import type { ContentPart } from "../tools/content.ts";
import { type Answer, type FailureCode, HOST_CALL, type RefusalCode } from "./answer.ts";
import type { CallEvent, Untimed } from "./call-event.ts";
import type { Gate } from "./gate.ts";
import { headerBase } from "./header-base.ts";
import type { CallRequest } from "./open-call.ts";
import type { GateLimits } from "./admit/budget.ts";
import type { WorkScope } from "./work-scope.ts";
import { redactAnswer } from "./run/redact-answer.ts";
import type { GateSession } from "./session.ts";

/** The result of `runtime.call`. */
export type CallAnswer =
  /** `parts` are images, files and links of a tool that was called as `direct`. */
  | { readonly ok: true; readonly value: unknown; readonly parts?: readonly ContentPart[] }
  /** `message` is for the caller: a model may read it. `cancelled`: the call was cancelled before it had an answer. */
  | { readonly ok: false; readonly code: RefusalCode | FailureCode | "cancelled"; readonly message: string };

export interface CallScope extends WorkScope {
  readonly gate: Gate;
  readonly journal: Journal;
  readonly leaseMs: number;
  readonly limits: GateLimits & Readonly<Record<string, number>>;
  readonly signal: AbortSignal;
  readonly onEvent: (event: Untimed<CallEvent>) => void;
}

/** Makes one call as an execution of its own. Rejects only if the journal cannot be written. */
export async function callTool(
  scope: CallScope,
  { tool, inputText, caller }: Omit<CallRequest, "callId" | "artifact">,
): Promise<CallAnswer> {
  const { gate, journal, leaseMs, limits, signal, onEvent } = scope;
  const known = gate.tools.get(tool);
  const input = Buffer.byteLength(inputText) <= limits.inputBytes ? inputText : "";
  const execution = randomUUID();
  const header = { ...headerBase(execution, scope, known ? [known] : []), kind: "call", tool, caller, input } as const;
  const log = await ExecutionLog.create(journal, header, { driver: randomUUID(), leaseMs });
  const spans = scope.telemetry?.hostCalls();
  const session = gate.open({ execution, scope, callers: [caller], isHosts: true, limits, log, spans, onEvent });
  const onAbort = () => session.close();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  let answer: Answer | undefined;
  let called: CallAnswer;
  try {
    answer = await session.call({ callId: HOST_CALL, tool, caller, inputText });
    const { redactor } = scope;
    const about = { to: "model", tool, callId: HOST_CALL } as const;
    const shown = answer && redactor ? (await redactAnswer(answer, redactor, about)).redacted : answer;
    called = await answerOf(shown, session);
  } finally {
    signal.removeEventListener("abort", onAbort);
    session.close();
  }
  await session.ended;
  await log.append({ type: "outcome", outcome: outcomeOf(answer), at: Date.now() });
  await log.end(true);
  return called;
}

async function answerOf(answer: Answer | undefined, { share }: GateSession): Promise<CallAnswer> {
  if (!answer) return { ok: false, code: "cancelled", message: "The call was cancelled before it had an answer." };
  if (!answer.ok) return { ok: false, code: answer.code, message: answer.message };
  const { text, parts } = answer;
  const value = await share.lane.run(() => JSON.parse(text) as unknown);
  return { ok: true, value, ...(parts ? { parts } : {}) };
}

/** JSON text of the ending, with the call's value. */
function outcomeOf(answer: Answer | undefined): string {
  if (!answer) return JSON.stringify({ type: "cancelled" });
  if (answer.ok) return `{"type":"completed","value":${answer.text}}`;
  const { code, message } = answer;
  return JSON.stringify({ type: "failed", code, message });
}
