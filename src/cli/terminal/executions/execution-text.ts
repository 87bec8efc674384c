import { now } from "../../../clock.ts";
import { byteText } from "../../../output/byte-text.ts";
import { CHANGES } from "../../../output/effect-text.ts";
import { cleanText } from "../../../output/clean-text.ts";
import { count, counted } from "../../../output/count-text.ts";
import { insetText } from "../../../output/foreign-text.ts";
import type { CallView, ExecutionView, ModelTurnView, SaidView, TextHead, WaitingView } from "../../../views/view.ts";
import {
  byText,
  callsMade,
  callText,
  decisionText,
  duration,
  endingText,
  FUNNEL,
  needsText,
  stateText,
  streamText,
  turnText,
  WAITS,
} from "../../../views/words.ts";
import { callRows, callsIn } from "../../../views/call-groups.ts";
import { timeOf } from "../../../views/timeline.ts";
import type { SameOptions } from "../../command-options.ts";
import { firstLine, foldLines } from "../fold-lines.ts";
import { oneLine, shortLine } from "../one-line.ts";
import { tableLines } from "../print.ts";
import { plainText, type TerminalShape } from "../terminal-shape.ts";
import { callTable, funnelLines, legendLines, type Times } from "./timeline-text.ts";
import { nextCommand, restsText, resumeCommand } from "./waiting-hints.ts";

/*
 * An execution on a terminal, printed from its view:
 *
 *   executionText    all of it
 *   executionFrame   as much of it as fits on the terminal, to be drawn again
 *   executionNews    what is new in it
 */

/** Characters of an input, a result or a printed text in a line. */
const TEXT_LENGTH = 200;
/** Printed lines at the foot of a frame. */
const PRINTED = 5;

/** How an execution is shown. */
export interface ShownAs extends TerminalShape {
  /** Each call has a line of its own, also if many are equal. */
  readonly allCalls?: boolean | undefined;
}

/** Output that is no terminal, whose lines may have any length. */
const ANYWHERE: ShownAs = { columns: undefined, isPlain: false };

/** `same` has the options of the commands that bring the execution further. */
export function executionText(view: ExecutionView, same: SameOptions, as = ANYWHERE): string {
  const printed = printedLines(view);
  const rows = callRows(view.calls, new Set(), as.allCalls);
  const folded = (...lines: readonly string[]) => foldLines(lines.map(cleanText), as.columns);
  const parts = [
    folded(...headLines(view), `${oneLine(byText(view))}, started ${timeText(view.startedAt)}:`, "", workText(view)),
    folded(...turnLines(view, 0)),
    [...callTable(rows, timesOf(view), as), ...folded(...legendLines(rows, timesOf(view)))],
    view.callsLeft === undefined ? [] : folded(`${counted(view.callsLeft, "later call")} are not listed.`),
    decisionLines(view.calls, as),
    folded(...waitingLines(view, same, oneLine), ...view.calls.filter((call) => call.state === "open").map(openLine)),
    view.outcome ? [] : folded(driverLine(view, same)),
    folded(...noteLines(view)),
    [...(view.outcome ? folded(endLine(view)) : []), ...usageLines(view, as)],
    view.output ? folded("output:", inset(view.output)) : printed.length > 0 ? folded("printed:", ...printed) : [],
  ];
  const text = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
  return cleanText(as.isPlain ? plainText(text) : text);
}

/** Rows of a terminal on which the funnel has rows of its own. */
const TALL = 20;

/** Lines that fit on a terminal with this many rows: head, latest calls, waits, and the text that was printed last. */
export function executionFrame(view: ExecutionView, rows: number, same: SameOptions, as = ANYWHERE): readonly string[] {
  const folded = (lines: readonly string[]) => foldLines(lines.map(cleanText), as.columns);
  const facts =
    rows < TALL
      ? [headLine(view), usageLine(view)].map((line) => firstLine(line, as.columns))
      : [...folded(headLines(view)), ...usageLines(view, as)];
  const head = [...facts, ""];
  const below = [...waitingLines(view, same), ...printedLines(view).slice(-PRINTED), ...endLines(view)];
  const foot = fitted(
    folded(below).flatMap((line) => line.split("\n")),
    Math.max(1, rows - head.length - 3),
  );
  const shown = foot.length > 0 ? ["", ...foot] : [];
  const calls = callRows(view.calls, new Set(), as.allCalls);
  // What waits for a person comes before the table.
  const room = Math.max(0, rows - head.length - shown.length - TABLE_HEAD - 1);
  const hidden = Math.max(0, calls.length - room);
  const earlier = callsIn(calls.slice(0, hidden));
  const more = earlier > 0 ? [`… ${counted(earlier, "earlier call")}`] : [];
  const lines = [...head, ...callTable(calls.slice(hidden), timesOf(view), as), ...more, ...shown];
  return as.isPlain ? lines.map(plainText) : lines;
}

/** Lines that a table of calls has beside its rows. */
const TABLE_HEAD = 2;

/** Lines that fit, with a count of the rest. */
function fitted(lines: readonly string[], room: number): readonly string[] {
  if (lines.length <= room) return lines;
  return [...lines.slice(0, room - 1), `… ${counted(lines.length - room + 1, "more line")}`];
}

/** What is new in an execution since it was looked at last, as lines. */
export function executionNews(
  view: ExecutionView,
  before: ExecutionView | undefined,
  same: SameOptions,
): readonly string[] {
  const calls = new Map(before?.calls.map((call) => [call.id, call]));
  const waited = new Set(before?.waiting.map(({ id }) => id));
  const areDue = streamsAreDue(view, before);
  return [
    ...(before ? [] : headLines(view)),
    ...view.events.slice(before?.events.length ?? 0).map(({ text }) => short(text)),
    ...view.calls.flatMap((call) => callNews(call, calls.get(call.id), areDue)),
    ...waitingLines({ ...view, waiting: view.waiting.filter(({ id }) => !waited.has(id)) }, same),
    ...turnLines(view, before?.kind === "conversation" ? before.turns.length : 0),
    ...printedLines(view).slice(before ? printedLines(before).length : 0),
    ...(before?.outcome ? [] : endLines(view)),
  ];
}

/** Shortest time between two lines about one stream, in milliseconds. */
const STREAM_LINE_MS = 2000;

/** Whether the news of open streams are due: the execution has gone on into another part of its time. */
function streamsAreDue({ lastAt }: ExecutionView, before: ExecutionView | undefined): boolean {
  const part = (at: number) => Math.floor(at / STREAM_LINE_MS);
  return before !== undefined && part(before.lastAt) !== part(lastAt);
}

function callNews(call: CallView, before: CallView | undefined, isDue: boolean): readonly string[] {
  const { id, tool, ms, bytes, items, decision } = call;
  const name = `call ${oneLine(id)}: ${oneLine(tool)}`;
  const decided =
    decision && !before?.decision ? [`${name} ${decisionText(decision)} by ${short(decision.by ?? "the host")}`] : [];
  if (before && call.state === "open" && items !== undefined && isDue)
    return [...decided, `${name} ${streamText({ items, bytes }, true)}`];
  if (before?.state === call.state || call.state === "waiting") return decided;
  if (call.state === "open") return before ? decided : [...decided, openLine(call)];
  const facts = [
    callText(call),
    ...(ms === undefined ? [] : [duration(ms)]),
    ...(bytes === 0 ? [] : [byteText(bytes)]),
  ];
  return [...decided, `${name} → ${short(facts.join(", "))}`];
}

function isOpen({ state }: CallView): boolean {
  return state === "open" || state === "waiting";
}

function timesOf(view: ExecutionView): Times {
  return { ...timeOf(view, now()), calls: view.calls, events: view.events };
}

/** What ran, and how it stands. */
function headLines(view: ExecutionView): readonly string[] {
  const after = view.kind === "program" && view.after !== undefined ? [`after ${oneLine(view.after)}`] : [];
  return [headLine(view), oneLine(view.title), ...after];
}

function headLine({
  kind,
  execution,
  tenant,
  state,
  driven,
  needs,
  outcome,
  startedAt,
  lastAt,
}: ExecutionView): string {
  const until = state === "running" && driven ? now() : lastAt;
  const word = stateText({ state, driven, needs, outcome: outcome?.type });
  return `${kind} ${oneLine(execution)} of ${oneLine(tenant)}: ${oneLine(word)}, ${duration(Math.max(0, until - startedAt))}`;
}

/** The program, the task, or the input of a call. */
function workText(view: ExecutionView): string {
  if (view.kind === "program") return insetText(view.source.trimEnd());
  if (view.kind === "conversation") return insetText(view.task.trimEnd());
  return view.calls[0] ? inset(view.calls[0].input) : "";
}

function inset({ text, bytes, cut }: TextHead): string {
  return `${insetText(text)}${cut ? `\n(cut: it has ${byteText(bytes)})` : ""}`;
}

function madeText(view: ExecutionView): string {
  const open = view.calls.filter(isOpen).length;
  const made = `${counted(callsMade(view), "call")} made`;
  return open === 0 ? made : `${made}, ${count(open)} open`;
}

function usageLine(view: ExecutionView): string {
  const { funnel } = view;
  const parts = [
    madeText(view),
    ...FUNNEL.flatMap(([name, what]) => (funnel[name] ? [`${byteText(funnel[name].bytes)} ${what}`] : [])),
  ];
  return parts.join(", ");
}

/** The funnel as bars on a terminal, and elsewhere in one line. */
function usageLines(view: ExecutionView, as: TerminalShape): readonly string[] {
  if (as.columns === undefined) return [usageLine(view)];
  return [madeText(view), ...funnelLines(view.funnel, as)];
}

function decisionLines(calls: readonly CallView[], { columns }: TerminalShape): readonly string[] {
  const rows = calls.flatMap(({ id, decision }) =>
    decision ? [[id, decisionText(decision), decision.by ?? "", decision.note ?? "", timeText(decision.at)]] : [],
  );
  return rows.length === 0 ? [] : tableLines(["call", "decision", "by", "note", "at"], rows, columns);
}

/** What an execution waits for, and the commands that bring it further. */
function waitingLines(view: ExecutionView, same: SameOptions, textOf = short): readonly string[] {
  // Only the host that holds a conversation answers the calls with which it rests.
  const isHosts = view.kind === "conversation" && view.rests;
  return view.waiting.map((call) => {
    const line = waitingLine(call, textOf);
    // A call of a conversation's program is decided in the conversation, under another id.
    return view.parent || isHosts ? line : `${line}\n  ${nextCommand(view.execution, call, same)}`;
  });
}

function waitingLine({ id, tool, input, why, effect }: WaitingView, textOf: (text: string) => string): string {
  const changes = effect === undefined || why === "result" ? "" : `. ${CHANGES[effect]}`;
  return `call ${oneLine(id)}: ${oneLine(tool)} with ${textOf(input.text)} ${WAITS[why]}${changes}`;
}

function openLine({ items, ...call }: CallView): string {
  const stream = items === undefined ? "" : `: ${streamText({ items, bytes: call.bytes }, true)}`;
  return `call ${oneLine(call.id)}: ${oneLine(call.tool)} with ${short(call.input.text)} ${callText(call)}${stream}`;
}

/** Whether a driver is at work, and how to go on if none is. */
function driverLine(view: ExecutionView, same: SameOptions): string {
  const { execution, kind, parent, driven, drivenUntil, needs, waiting } = view;
  if (drivenUntil !== undefined) return `A driver holds it until at least ${timeText(drivenUntil)}.`;
  if (driven) return "A driver has it.";
  if (kind === "call") return "It has no driver, and cannot be taken up.";
  if (kind === "conversation" && view.rests) return restsText(execution, same);
  if (needs) return oneLine(`No worker of its fleet has what it needs. It waits for ${needsText(needs)}.`);
  const within = parent ? `, and goes on with ${oneLine(parent.execution)}` : "";
  const first = waiting.length > 0 ? "Decide or answer what waits, then take it up" : "Take it up";
  return `It has no driver${within}. ${first}, with the tools it began with:\n  ${resumeCommand(parent?.execution ?? execution, same)}`;
}

function noteLines({ notes, events, artifacts }: ExecutionView): readonly string[] {
  return [
    ...notes.map(oneLine),
    ...events.map(({ text, at }) => `${timeText(at)} ${oneLine(text)}`),
    ...artifacts.map(({ name, bytes, shape, call }) =>
      oneLine(`Kept by call ${call}: ${name}, ${byteText(bytes)}, ${shape}`),
    ),
  ];
}

function printedLines(view: ExecutionView): readonly string[] {
  if (view.kind !== "program") return [];
  return view.logs.flatMap(({ text }) =>
    text
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => `  ${short(line)}`),
  );
}

/** The ending, with the first line of what was returned. */
function endLines(view: ExecutionView): readonly string[] {
  if (!view.outcome) return [];
  // Printed text follows the value, and is shown by itself.
  const returned = !view.outcome.fault && view.output ? `: ${view.output.text.split("\n", 1).join("")}` : "";
  return [short(`${endLine(view)}${returned}`)];
}

function endLine({ outcome }: ExecutionView): string {
  const { type = "", fault, limit } = outcome ?? {};
  const why = fault ? `: ${fault.name}: ${fault.message}` : "";
  return oneLine(
    `ended as ${endingText({ type, limit })}${why}${fault?.line === undefined ? "" : ` (line ${fault.line})`}`,
  );
}

/** The turns of a model from `from` on. Its programs are executions of their own, which are shown by their ids. */
function turnLines(view: ExecutionView, from: number): readonly string[] {
  if (view.kind !== "conversation") return [];
  const calls = new Map(view.calls.map((call) => [call.id, call]));
  return [
    ...view.turns
      .slice(from)
      .flatMap((turn, index) => [
        ...turn.said.map(saidLine),
        `turn ${from + index + 1}: ${turnText(turn)}: ${short(turn.text.text)}`,
        ...turnCallLines(turn, calls),
      ]),
    ...(from === 0 ? view.said.map(saidLine) : []),
  ];
}

function turnCallLines(turn: ModelTurnView, calls: ReadonlyMap<string, CallView>): readonly string[] {
  const line = (id: string, what: string, result: TextHead | undefined) =>
    `  call ${oneLine(id)}: ${short(what)}${result ? ` → ${short(result.text)}` : ""}`;
  return [
    ...turn.calls.flatMap((id) => {
      const call = calls.get(id);
      return call ? [line(id, `${call.tool} ${call.input.text}`, call.result)] : [];
    }),
    ...turn.programs.map(({ id, execution, result }) =>
      line(id, execution === undefined ? "a program at the provider" : `its program, execution ${execution}`, result),
    ),
  ];
}

function saidLine({ by, text }: SaidView): string {
  return `the ${by}: ${short(text.text)}`;
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}

function short(text: string): string {
  return shortLine(text, TEXT_LENGTH);
}
