import { type Answer, isRefusal, saysMore, type Value } from "../../gate/answer.ts";
import { redactAnswer } from "../../gate/run/redact-answer.ts";
import type { CallResult, ModelCall, Provenance, ToolCall, ToolDeclaration } from "../../models/model.ts";
import { cleanJson } from "../../executions/output/clean-json.ts";
import {
  cleanText,
  cutCleaned,
  cutMiddle,
  INSET,
  insetLines,
  insetText,
  type Lane,
  readHead,
} from "../../base/index.ts";
import type { Report } from "../../executions/output/report.ts";
import { TOO_LARGE_ADVICE } from "../../executions/output/sentences.ts";
import { shownOfLarge, stubOf } from "../../executions/output/large-value.ts";
import type { KeptValue } from "../../executions/drive/ending/keep-value.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";

const OF_VALUE = "of which only a part is shown";
const OF_MESSAGE = "of which the middle is left out";

export interface ResultWays {
  readonly outputBytes: number;
  readonly lane: Lane;
  /** Name of the source that the tool comes from; undefined for the host's own. */
  readonly source?: string | undefined;
  /** Keeps a result that is too large, as JSON text from which `redacted` characters were taken; undefined if it cannot be kept. */
  readonly keep: (callId: string, text: string, redacted?: number) => Promise<KeptValue | undefined>;
  readonly loads: boolean;
  /** Takes out what must not leave, before anything is shortened. */
  readonly redactor?: Redactor | undefined;
}

export async function resultOfAnswer(call: ToolCall, answer: Answer, ways: ResultWays): Promise<CallResult> {
  const { redactor } = ways;
  if (!redactor) return wholeResult(call, answer, ways);
  const { redacted, count } = await redactAnswer(answer, redactor, { to: "model", tool: call.tool, callId: call.id });
  if (count === 0) return wholeResult(call, redacted, ways);
  const keep: ResultWays["keep"] = (callId, text) => ways.keep(callId, text, count);
  const result = await wholeResult(call, redacted, { ...ways, keep, loads: false });
  const bytes = answer.ok ? answer.bytes : result.provenance.bytes;
  return { ...result, provenance: { ...result.provenance, bytes, filtered: filteredText(count) } };
}

function filteredText(count: number): string {
  return `${count} ${count === 1 ? "character" : "characters"} redacted`;
}

async function wholeResult(call: ToolCall, answer: Answer, ways: ResultWays): Promise<CallResult> {
  const result = answer.ok ? await resultOfValue(call, answer, ways) : await failureResult(call, answer, ways);
  const { approvedBy, from, parts } = answer;
  // No handler has run for a call that was refused, and the model may not know of its tool.
  const source = isRefusal(answer) ? undefined : ways.source;
  return { ...withHistory(result, { source, from, approvedBy }), parts };
}

function withHistory(result: CallResult, { source, from, approvedBy }: History): CallResult {
  const clean = (text: string | undefined) => text && cleanText(text);
  const history = { source: clean(source), from: clean(from), approvedBy: clean(approvedBy) };
  return { ...result, provenance: { ...result.provenance, ...history } };
}

type History = Pick<Provenance, "source" | "from" | "approvedBy">;

async function resultOfValue(
  call: ToolCall,
  answer: Pick<Value, "text" | "bytes">,
  { outputBytes, lane, keep, loads }: ResultWays,
): Promise<CallResult> {
  // A hosted program parses the text itself: it gets the value unchanged, within the gate's limits.
  if (call.caller !== "direct") return valueResult(call, answer.text, answer.bytes);
  const shown = answer.bytes <= outputBytes ? cleanJson(answer.text) : undefined;
  if (shown !== undefined && Buffer.byteLength(shown) <= outputBytes) return valueResult(call, shown, answer.bytes);
  const head = (await readHead(answer.text, outputBytes, lane)) ?? {
    value: answer.text.slice(0, outputBytes),
    counts: new Map(),
  };
  const kept = await keep(call.id, answer.text);
  const isLoaded = kept !== undefined && loads;
  const advice = isLoaded ? `All of it is kept: read it in a program by await load("${kept.name}").` : TOO_LARGE_ADVICE;
  const allowed = isLoaded ? shownOfLarge(head.value, outputBytes) : outputBytes;
  const stub = stubOf({ ...head, bytes: answer.bytes }, allowed, advice, kept?.name);
  return valueResult(call, cleanJson(JSON.stringify(stub)), answer.bytes, OF_VALUE);
}

export function withFound(
  result: CallResult,
  answer: Answer,
  deferred: readonly Pick<ToolDeclaration, "name">[] = [],
): CallResult {
  if (!answer.ok) return result;
  const names = new Set(deferred.map(({ name }) => name));
  const tools = JSON.parse(answer.text) as readonly { readonly name: string }[];
  const found = tools.map(({ name }) => name).filter((name) => names.has(name));
  return found.length === 0 ? result : { ...result, found };
}

/** A failure with the value that the handler gave, after its words if they say more. A text is foreign text like a message. */
async function failureWithValue(
  call: ToolCall,
  { message, value }: { readonly message: string; readonly value: string },
  ways: ResultWays,
): Promise<CallResult> {
  const bytes = Buffer.byteLength(value);
  if (value.startsWith('"')) {
    const { text, isCut } = cutCleaned(JSON.parse(value) as string, insetText, ways.outputBytes, INSET);
    return refusal(call, text, { bytes, cut: isCut ? OF_MESSAGE : undefined });
  }
  const shown = await resultOfValue(call, { text: value, bytes }, ways);
  if (!saysMore({ message }, value)) return { ...shown, isError: true };
  return { ...shown, text: `${insetText(message)}\n${shown.text}`, isJson: false, isError: true };
}

/** The gate has already cut a long message. The message of a handler is foreign text, so all its lines are indented. */
async function failureResult(
  call: ToolCall,
  answer: Answer & { readonly ok: false },
  ways: ResultWays,
): Promise<CallResult> {
  const { outputBytes } = ways;
  if (call.caller !== "direct") return refusal(call, cutMiddle(cleanText(answer.message), outputBytes));
  const { value } = answer;
  if (value !== undefined) return failureWithValue(call, { message: answer.message, value }, ways);
  const message = answer.code === "handler_failed" ? insetText(answer.message) : insetLines(answer.message);
  const text = cutMiddle(message, outputBytes, INSET);
  if (text === message && answer.wholeBytes === undefined) return refusal(call, text);
  return refusal(call, text, { bytes: answer.wholeBytes ?? Buffer.byteLength(message), cut: OF_MESSAGE });
}

export function resultOfReport(
  call: ModelCall,
  { report, approvedBy }: { readonly report: Report; readonly approvedBy: string | undefined },
): CallResult {
  const { text, isError, cut, redacted = 0 } = report.output;
  const omissions = [
    cut?.valueBytes === undefined ? [] : `a value of ${cut.valueBytes} bytes, ${OF_VALUE}`,
    cut?.logLines === undefined ? [] : `${cut.logLines} printed lines left out`,
  ]
    .flat()
    .join(", ");
  const summary = summaryOf(report);
  const provenance = {
    tool: RUN_PROGRAM,
    bytes: Buffer.byteLength(text),
    cut: omissions || undefined,
    filtered: redacted === 0 ? undefined : filteredText(redacted),
    summary,
  };
  return withHistory({ callId: call.id, text, isJson: false, isError, provenance }, { approvedBy });
}

/** `completed, 1.2 s, 3 calls, 40 bytes`. Waiting for approvals is no part of the seconds. */
function summaryOf({ outcome, usage }: Report): string {
  const { cpuMs, waitingMs, calls, bytesOut } = usage;
  const seconds = ((cpuMs + waitingMs) / 1000).toFixed(1);
  return `${outcome.type}, ${seconds} s, ${calls} ${calls === 1 ? "call" : "calls"}, ${bytesOut} bytes`;
}

/** A result that says in a sentence why a call has no value. */
export function refusal(call: ModelCall, text: string, about?: Pick<Provenance, "bytes" | "cut">): CallResult {
  const provenance = { tool: cleanText(toolOf(call)), bytes: Buffer.byteLength(text), ...about };
  return { callId: call.id, text, isJson: false, isError: true, provenance };
}

export function toolOf(call: ModelCall): string {
  return call.type === "tool_call" ? call.tool : RUN_PROGRAM;
}

function valueResult(call: ToolCall, text: string, bytes: number, cut?: string): CallResult {
  const provenance = { tool: call.tool, bytes, cut };
  return { callId: call.id, text, isJson: true, isError: false, provenance };
}
