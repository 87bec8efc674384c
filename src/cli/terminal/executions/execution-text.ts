import type { ListedExecution } from "../../../runtime/executions/index.ts";
import { byteText, count, countText, insetText } from "../../../base/index.ts";
import { CHANGES } from "../../../executions/output/index.ts";
import { type CallGroup, callRows } from "../../../serve/views/call-groups.ts";
import type {
  CallView,
  ExecutionView,
  ModelTurnView,
  SaidView,
  TextHead,
  WaitingView,
} from "../../../serve/views/view.ts";
import {
  byText,
  callCount,
  callText,
  decisionText,
  duration,
  endingText,
  FUNNEL,
  needsText,
  stateText,
  streamText,
  toolText,
  turnText,
  WAITS,
} from "../../../serve/views/words.ts";
import type { SameOptions } from "../../command-options.ts";
import { oneLine, shortLine } from "../standard-streams.ts";
import { nextCommands, restsText, resumeCommand } from "./waiting-hints.ts";

/** UTF-16 units of an input, a result or a title in a line. */
const TEXT_LENGTH = 200;
const TITLE_LENGTH = 60;

/**
 * An execution as lines of text. `same` has the options of the commands that bring it further. `isFollowed`: the lines are
 * for those who get the ones that change. So each call has one, and none changes because time passes. Names and texts come from programs and models, and no character of them controls a terminal.
 */
export function executionLines(view: ExecutionView, same: SameOptions, isFollowed?: boolean): readonly string[] {
  // What waits has lines of its own.
  const calls = view.calls.filter(({ state }) => state !== "waiting");
  const parts: readonly (readonly string[])[] = [
    [...headLines(view), ...workLines(view)],
    turnLines(view),
    [
      ...(isFollowed
        ? calls.map(callLine)
        : callRows(calls, new Set()).map((row) => (row.type === "call" ? callLine(row.call) : groupLine(row.group)))),
      ...(view.callsLeft === undefined ? [] : [`${countText(view.callsLeft, "later call")} are not listed.`]),
    ],
    view.calls.flatMap(decisionLine),
    waitingLines(view, same),
    view.outcome ? [] : driverLines(view, same, isFollowed),
    noteLines(view),
    [...(view.outcome ? [endLine(view)] : []), ...(view.driven ? [] : [usageLine(view)])],
    view.output ? ["output:", ...inset(view.output)] : printedLines(view),
  ];
  return parts.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]));
}

/** One execution of a list, and what it is called. */
export function listLine(row: ListedExecution, title = ""): string {
  const { execution, kind, tenant, startedAt, ms, waitsFor, needs, parent } = row;
  const what = needs
    ? `needs ${needsText(needs)}`
    : waitsFor.length > 0
      ? `waits for ${waitsFor.join(", ")}`
      : parent === undefined
        ? shortLine(title, TITLE_LENGTH)
        : `continues with ${parent}`;
  const facts = [stateText(row), ms !== undefined && duration(ms), `of ${tenant}`, what].filter(Boolean);
  return oneLine(`${timeText(startedAt)}  ${kind.padEnd(12)}  ${execution.padEnd(36)}  ${facts.join(", ")}`);
}

/** The lines that an earlier text does not have. */
export function newLines(lines: readonly string[], before: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const line of before) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const remaining = counts.get(line) ?? 0;
    counts.set(line, remaining - 1);
    return line !== "" && remaining <= 0;
  });
}

/** What runs, how it stands, and what does the work. */
function headLines(view: ExecutionView): readonly string[] {
  const { kind, execution, tenant, outcome, startedAt, lastAt } = view;
  const took = outcome ? `, ${duration(Math.max(0, lastAt - startedAt))}` : "";
  return [
    oneLine(`${kind} ${execution} of ${tenant}: ${stateText({ ...view, outcome: outcome?.type })}${took}`),
    oneLine(view.title),
    ...(view.kind === "program" && view.corrects !== undefined ? [oneLine(`corrects ${view.corrects}`)] : []),
    oneLine(`${byText(view)}, started ${timeText(startedAt)}:`),
  ];
}

/** The program, the task, or the input of a call. */
function workLines(view: ExecutionView): readonly string[] {
  if (view.kind === "call") return view.calls.slice(0, 1).flatMap(({ input }) => inset(input));
  const text = (view.kind === "program" ? view.source : view.task).trimEnd();
  return text === "" ? [] : insetText(text).split("\n");
}

function inset({ text, bytes, cut }: TextHead): readonly string[] {
  return [...insetText(text).split("\n"), ...(cut ? [`(cut: it has ${byteText(bytes)})`] : [])];
}

/** The turns of a model, from the first that is shown. Its programs are executions of their own, which are shown by their ids. */
export function turnLines(view: ExecutionView, from = 0): readonly string[] {
  if (view.kind !== "conversation") return [];
  const calls = new Map(view.calls.map((call) => [call.id, call]));
  return [
    ...view.turns
      .slice(from)
      .flatMap((turn, index) => [
        ...turn.said.map(saidLine),
        `turn ${from + index + 1}: ${oneLine(turnText(turn))}: ${short(turn.text.text)}`.trimEnd(),
        ...turnCallLines(turn, calls),
      ]),
    ...view.said.map(saidLine),
  ];
}

function turnCallLines({ calls: own, programs }: ModelTurnView, calls: ReadonlyMap<string, CallView>) {
  const line = (id: string, what: string, result: TextHead | undefined) =>
    `  call ${oneLine(id)}: ${short(what)}${result ? ` → ${short(result.text)}` : ""}`;
  return [
    ...own.flatMap((id) => {
      const call = calls.get(id);
      return call ? [line(id, `${call.tool} ${call.input.text}`, call.result)] : [];
    }),
    ...programs.map(({ id, execution, result }) =>
      line(id, execution === undefined ? "a program at the provider" : `its program, execution ${execution}`, result),
    ),
  ];
}

function saidLine({ by, text }: SaidView): string {
  return `the ${by}: ${short(text.text)}`;
}

function callLine(call: CallView): string {
  const { id, state, ms, bytes, input, items, ...rest } = call;
  const name = `call ${id}: ${toolText(call)}`;
  if (state === "open") {
    const stream = items === undefined ? "" : `: ${streamText({ items, bytes }, true)}`;
    return oneLine(`${name} with ${short(input.text)} ${callText({ state, ...rest })}${stream}`);
  }
  return short(`${name} → ${[callText(call), ...sizes(ms, bytes)].join(", ")}`);
}

function groupLine(group: CallGroup): string {
  const { calls, took, bytes } = group;
  const name = `${count(calls.length)}× ${toolText({ ...calls[0], tool: group.tool })}`;
  return short(
    `${name} → ${[callText(group), ...(took ? [`${duration(took.inAll)} in all`] : []), ...sizes(undefined, bytes)].join(", ")}`,
  );
}

function sizes(ms: number | undefined, bytes: number): readonly string[] {
  return [...(ms === undefined ? [] : [duration(ms)]), ...(bytes === 0 ? [] : [byteText(bytes)])];
}

function decisionLine({ id, tool, decision }: CallView): readonly string[] {
  if (!decision) return [];
  const by = decision.by === undefined ? "" : ` by ${decision.by}`;
  const note = decision.note === undefined ? "" : `: ${decision.note}`;
  return [oneLine(`call ${id}: ${tool} ${decisionText(decision)}${by}, ${timeText(decision.at)}${note}`)];
}

/** What an execution waits for, and the commands that bring it further. The whole input is shown: people decide by it. */
export function waitingLines(view: ExecutionView, same: SameOptions): readonly string[] {
  // A call of a conversation's program is decided in the conversation, under another id; those of a host by the host.
  const isElsewhere = view.parent !== undefined || (view.kind === "conversation" && view.rests);
  return view.waiting.flatMap((call) => {
    const commands = isElsewhere ? [] : nextCommands(view.execution, call, same);
    const isOne = commands.length === 1;
    return [
      waitingLine(call),
      ...commands.flatMap(({ what, command }) => (isOne ? [`  ${command}`] : [`  ${what}:`, `    ${command}`])),
    ];
  });
}

function waitingLine({ id, tool, input, rawInput, why, effect }: WaitingView): string {
  const changes = effect === undefined || why === "result" ? "" : `. ${CHANGES[effect]}`;
  const sent = rawInput === undefined ? "" : `(sent as ${rawInput.text}) `;
  return oneLine(`call ${id}: ${tool} with ${input.text} ${sent}${WAITS[why]}${changes}`);
}

/** Whether a driver is at work, and how to go on if none is. */
function driverLines(view: ExecutionView, same: SameOptions, isFollowed: boolean | undefined): readonly string[] {
  const { execution, kind, parent, driven, drivenUntil, needs, waiting } = view;
  if (drivenUntil !== undefined && !isFollowed) return [`A driver holds it until at least ${timeText(drivenUntil)}.`];
  if (driven) return ["A driver has it."];
  if (kind === "call") return ["It has no driver, and cannot be resumed."];
  if (kind === "conversation" && view.rests) return restsText(execution, same).split("\n");
  if (needs) return [oneLine(`No worker of its fleet has what it needs. It waits for ${needsText(needs)}.`)];
  const within = parent ? `, and continues with ${oneLine(parent.execution)}` : "";
  const first = waiting.length > 0 ? "Decide or answer what waits, then resume it" : "Resume it";
  return [
    `It has no driver${within}. ${first}, with the tools it began with:`,
    `  ${resumeCommand(parent?.execution ?? execution, same)}`,
  ];
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
  if (view.kind !== "program" || view.logs.length === 0) return [];
  const lines = view.logs.flatMap(({ text }) => text.replace(/\n$/, "").split("\n"));
  return ["printed:", ...lines.map((line) => `  ${short(line)}`)];
}

function endLine({ outcome }: ExecutionView): string {
  const { type, fault, limit } = outcome!;
  const why = fault ? `: ${fault.name}: ${fault.message}` : "";
  const where = fault?.line === undefined ? "" : ` (line ${fault.line})`;
  return oneLine(`ended as ${endingText({ type, limit })}${why}${where}`);
}

function usageLine(view: ExecutionView): string {
  const parts = FUNNEL.flatMap(([name, what]) => {
    const part = view.funnel[name];
    return part ? [`${byteText(part.bytes)} ${what}`] : [];
  });
  return [`${countText(callCount(view), "call")} made`, ...parts].join(", ");
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}

function short(text: string): string {
  return shortLine(text, TEXT_LENGTH);
}
