import { randomUUID } from "node:crypto";
import { ignore, now, withoutUndefined } from "../base/index.ts";
import { createExecution, ExecutionLog } from "../journal/execution-log.ts";
import type { Journal } from "../journal/journal.ts";
import type { StoredPart } from "../tools/content.ts";
import type { Tool } from "../tools/tool.ts";
import { type Answer, HOST_CALL } from "./answer.ts";
import type { CallEvent, EventFields } from "./call-event.ts";
import type { Gate } from "./gate.ts";
import { headerBase } from "./header-base.ts";
import type { CallRequest } from "./open-call.ts";
import type { GateLimits } from "./admit/budget.ts";
import type { WorkScope } from "./work-scope.ts";
import { redactAnswer } from "./run/redact-answer.ts";
import type { GateSession } from "./session.ts";
import { type CallFailure, HostItems } from "./streams/host-items.ts";

/** The result of `runtime.call`. */
export type CallAnswer =
  /** `parts` are images, files and links of a tool that was called as `direct`, `from` says where the result comes from. */
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly parts?: readonly StoredPart[];
      readonly from?: string;
      readonly items?: never;
    }
  /** Of a tool with `stream`, unless the call has `gather`. The items can be read once. */
  | { readonly ok: true; readonly items: AsyncIterable<unknown>; readonly value?: never; readonly parts?: never }
  | CallFailure;

export interface CallScope extends WorkScope {
  readonly gate: Gate;
  readonly journal: Journal;
  readonly leaseMs: number;
  readonly limits: GateLimits & Readonly<Record<string, number>>;
  readonly signal: AbortSignal;
  readonly onEvent: (event: EventFields<CallEvent>) => void;
}

/** How a host reads the items of a tool that streams. */
export interface StreamReading {
  /** Called with the answer once there is an item, while the call goes on. */
  readonly begin: (answer: CallAnswer) => void;
  /** The end of all work on the call. */
  readonly recorded: () => Promise<unknown>;
}

/**
 * Makes one call as an execution of its own, and resolves once it has ended: a stream, once its items are read no more.
 * Without `reading` a stream is gathered into one array. Rejects only if the journal cannot be written.
 */
export async function callTool(
  scope: CallScope,
  request: Pick<CallRequest, "tool" | "inputText" | "caller" | "idempotencyKey">,
  reading: StreamReading | undefined,
): Promise<CallAnswer> {
  const { gate, journal, leaseMs, limits, signal, onEvent } = scope;
  const { tool, inputText, caller } = request;
  const definition = gate.tools.get(tool);
  const input = Buffer.byteLength(inputText) <= limits.inputBytes ? inputText : "";
  const execution = randomUUID();
  const header = {
    ...headerBase(execution, scope, definition ? [definition] : []),
    kind: "call",
    tool,
    caller,
    input,
  } as const;
  const driver = { driver: randomUUID(), leaseMs };
  const log = new ExecutionLog(journal, header, await createExecution(journal, header, driver), driver, undefined);
  const spans = scope.telemetry?.hostCalls();
  const session = gate.open({ execution, scope, callers: [caller], isHosts: true, limits, log, spans, onEvent });
  const items = definition?.stream && reading ? hostItems(session, definition, reading) : undefined;
  const cancel = () => {
    items?.cancel("The call was cancelled before the end of its stream.");
    session.close();
  };
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  let answer: Answer | undefined;
  let called: CallAnswer;
  try {
    answer = await session.call({ callId: HOST_CALL, ...request, reader: items });
    const { redactor } = scope;
    const shown = answer && redactor ? (await redactAnswer(answer, redactor, aboutOf(tool))).redacted : answer;
    called = items ? await answerAfter(items, shown) : await answerOf(shown, session);
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
  await session.ended;
  await log.append({ type: "outcome", outcome: outcomeOf(answer, items), at: now() });
  await log.stop(true);
  return called;
}

function aboutOf(tool: string) {
  return { to: "model", tool, callId: HOST_CALL } as const;
}

function hostItems(session: GateSession, { name, timeoutMs }: Tool, { begin, recorded }: StreamReading): HostItems {
  const { scope, share } = session;
  const { redactor } = scope;
  return new HostItems({
    tool: name,
    share,
    unreadMs: timeoutMs,
    onBegun: (items) => begin({ ok: true, items }),
    more: () => session.more(HOST_CALL),
    // If the journal fails, the call rejects with that.
    stop: () => void session.stopReading(HOST_CALL).catch(ignore),
    recorded,
    redact: redactor && (async (body) => (await redactor.json(body, aboutOf(name))).text),
  });
}

/** The answer of a stream, once the host reads no more of the items that it was given before. */
async function answerAfter(items: HostItems, answer: Answer | undefined): Promise<CallAnswer> {
  const failure = answer?.ok ? undefined : failureOf(answer);
  await items.end(failure);
  return failure && items.handed.items === 0 ? failure : { ok: true, items };
}

async function answerOf(answer: Answer | undefined, { share }: GateSession): Promise<CallAnswer> {
  const text = answer?.ok ? answer.text : answer?.value;
  const value = text === undefined ? undefined : await share.lane.run(() => JSON.parse(text) as unknown);
  const extras = withoutUndefined({ parts: answer?.parts, from: answer?.from });
  if (answer?.ok) return { ok: true, value, ...extras };
  return { ...failureOf(answer), ...withoutUndefined({ value }), ...extras };
}

function failureOf(answer: (Answer & { readonly ok: false }) | undefined): CallFailure {
  if (!answer) return { ok: false, code: "cancelled", message: "The call was cancelled before it had an answer." };
  return { ok: false, code: answer.code, message: answer.message };
}

/** JSON text of the ending, with the call's value; of a stream, with what the host was given of it. */
function outcomeOf(answer: Answer | undefined, items: HostItems | undefined): string {
  if (items && (answer?.ok || items.isStopped)) return JSON.stringify({ type: "completed", ...items.handed });
  if (!answer) return JSON.stringify({ type: "cancelled" });
  if (answer.ok) return `{"type":"completed","value":${answer.text}}`;
  const { code, message } = answer;
  return JSON.stringify({ type: "failed", code, message });
}
