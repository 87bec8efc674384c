import { byteText } from "../../output/sentences.ts";
import type { CallView, ExecutionView, WaitingView } from "../../views/view.ts";
import { oneLine, shortLine } from "./one-line.ts";
import { table } from "./table.ts";
import { decideCommand, resumeCommand, type SameOptions } from "./waiting-hints.ts";

/** Characters of an input or of printed text in a line. */
const TEXT_LENGTH = 160;
/** Printed lines at the foot of a frame. */
const PRINTED = 5;

/** One execution as lines that fit on a terminal with this many rows: its head, its latest calls, what it waits for, what it printed. */
export function executionFrame(view: ExecutionView, rows: number, options: SameOptions): readonly string[] {
  const head = [headLine(view), usageLine(view), ""];
  const below = [...waitingLines(view, options), ...printedLines(view).slice(-PRINTED), ...endLines(view)];
  const foot = fitted(
    below.flatMap((line) => line.split("\n")),
    Math.max(1, rows - head.length - 2),
  );
  const shown = foot.length > 0 ? ["", ...foot] : [];
  const room = Math.max(1, rows - head.length - shown.length - TABLE_HEAD - 1);
  return [...head, ...callLines(view.calls, room), ...shown];
}

/** Lines that a table of calls has beside its rows. */
const TABLE_HEAD = 2;

/** What does not fit is counted. */
function fitted(lines: readonly string[], room: number): readonly string[] {
  if (lines.length <= room) return lines;
  return [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`];
}

function headLine({ kind, execution, tenant, state, driven, startedAt, lastAt }: ExecutionView): string {
  const driver = state === "running" && !driven ? ", without a driver" : "";
  const until = state === "running" ? Date.now() : lastAt;
  return `${kind} ${oneLine(execution)} of ${oneLine(tenant)}: ${state}${driver}, ${secondsText(until - startedAt)}`;
}

function usageLine({ calls, funnel: { fetched, seen, returned } }: ExecutionView): string {
  const open = calls.filter(({ state }) => state === "open" || state === "waiting").length;
  const parts = [
    `${calls.length} ${calls.length === 1 ? "call" : "calls"}, ${open} open`,
    `${byteText(fetched.bytes)} fetched`,
    ...(seen ? [`${byteText(seen.bytes)} seen`] : []),
    ...(returned ? [`${byteText(returned.bytes)} returned`] : []),
  ];
  return parts.join(", ");
}

function callLines(calls: readonly CallView[], room: number): readonly string[] {
  if (calls.length === 0) return [];
  const latest = calls.slice(-room);
  const rows = latest.map(({ id, tool, state, detail, ms, bytes }) => [
    id,
    tool,
    detail ?? state,
    ms === undefined ? "" : String(Math.round(ms)),
    bytes === 0 ? "" : byteText(bytes),
  ]);
  const left = calls.length - latest.length;
  const more = left === 0 ? [] : [`… ${left} earlier ${left === 1 ? "call" : "calls"}`];
  return [...table(["call", "tool", "state", "ms", "size"], rows, ["ms", "size"]).split("\n"), ...more];
}

function waitingLines({ execution, waiting, parent }: ExecutionView, options: SameOptions): readonly string[] {
  return waiting.map((one) => waitingLine(one, parent ? undefined : execution, options));
}

/** A waiting call of a conversation's program is decided in the conversation, under another id. */
function waitingLine(
  { id, tool, why, input }: WaitingView,
  execution: string | undefined,
  options: SameOptions,
): string {
  const what = `waits for ${WAITS_FOR[why]} of ${oneLine(tool)} (call ${oneLine(id)}): ${short(input.text)}`;
  if (execution === undefined) return what;
  const how =
    why === "result"
      ? `${resumeCommand(execution, options)} --result ${oneLine(id)}=JSON`
      : decideCommand(execution, id, options);
  return `${what}\n  ${how}`;
}

const WAITS_FOR: Readonly<Record<WaitingView["why"], string>> = {
  approval: "the approval",
  outcome_unknown: "a decision about the unknown outcome",
  result: "the result",
};

function printedLines(view: ExecutionView): readonly string[] {
  return view.kind === "program" ? view.logs.flatMap(({ text }) => printed(text)) : [];
}

function printed(text: string): readonly string[] {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `  ${short(line)}`);
}

function endLines({ outcome, output }: ExecutionView): readonly string[] {
  if (!outcome) return [];
  const { type, fault, limit } = outcome;
  const why = fault ? `: ${fault.name}: ${fault.message}` : limit === undefined ? "" : ` by the limit ${limit}`;
  // What was printed follows the value, and is shown by itself.
  const returned = !fault && output ? `: ${output.text.split("\n", 1).join("")}` : "";
  return [short(`ended as ${type}${why}${returned}`)];
}

/** What is new in an execution since it was looked at last, as lines. */
export function executionNews(
  view: ExecutionView,
  before: ExecutionView | undefined,
  options: SameOptions,
): readonly string[] {
  const calls = new Map(before?.calls.map((call) => [call.id, call]));
  const waited = new Set(before?.waiting.map(({ id }) => id));
  return [
    ...(before ? [] : [headLine(view)]),
    ...view.events.slice(before?.events.length ?? 0).map(({ text }) => short(text)),
    ...view.calls.flatMap((call) => callNews(call, calls.get(call.id))),
    ...waitingLines({ ...view, waiting: view.waiting.filter(({ id }) => !waited.has(id)) }, options),
    ...turnNews(view, before),
    ...printedLines(view).slice(before ? printedLines(before).length : 0),
    ...(before?.outcome ? [] : endLines(view)),
  ];
}

function callNews(call: CallView, before: CallView | undefined): readonly string[] {
  const { id, tool, state, detail, ms, bytes, decision } = call;
  const name = `call ${oneLine(id)} ${oneLine(tool)}`;
  const decided =
    decision && !before?.decision ? [`${name}: ${decision.decision} by ${short(decision.by ?? "the host")}`] : [];
  if (before?.state === state || state === "waiting") return decided;
  if (state === "open") return before ? decided : [...decided, `${name} with ${short(call.input.text)}`];
  const took = ms === undefined ? "" : `, ${Math.round(ms)} ms`;
  const size = bytes === 0 ? "" : `, ${byteText(bytes)}`;
  return [...decided, `${name}: ${short(detail ?? state)}${took}${size}`];
}

function turnNews(view: ExecutionView, before: ExecutionView | undefined): readonly string[] {
  if (view.kind !== "conversation") return [];
  const known = before?.kind === "conversation" ? before.turns.length : 0;
  return view.turns
    .slice(known)
    .flatMap(({ text, end, inputTokens, outputTokens, programs }, index) => [
      `turn ${known + index + 1}: ${end}, ${inputTokens} tokens in, ${outputTokens} out: ${short(text.text)}`,
      ...programs.flatMap(({ execution }) => (execution === undefined ? [] : [`  program ${oneLine(execution)}`])),
    ]);
}

function short(text: string): string {
  return shortLine(text, TEXT_LENGTH);
}

function secondsText(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
}
