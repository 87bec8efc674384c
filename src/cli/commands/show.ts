import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { outcomeText } from "../../gate/call-line.ts";
import type { Journal } from "../../journal/journal.ts";
import type { ConversationHeader, DecisionRecord, Header, JournalRecord, ProgramHeader } from "../../journal/record.ts";
import { cleanText } from "../../output/clean-text.ts";
import { insetText } from "../../output/foreign-text.ts";
import { byteText } from "../../output/sentences.ts";
import { childExecution } from "../../agent/child-execution.ts";
import type { SaidMessage } from "../../agent/said.ts";
import type { MessagePart } from "../../models/model.ts";
import { isResting, type PastConversation, readPastConversation } from "../../agent/past-conversation.ts";
import type { UnansweredCall } from "../../programs/execution-state.ts";
import { type Past, readPast } from "../../programs/past-execution.ts";
import { isExpired, isWaiting, openCalls } from "../../programs/waiting.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, reasonOf } from "../failure.ts";
import { findExecution } from "../input/find-execution.ts";
import { existingJournal } from "../input/open-journal.ts";
import { oneLine, shortLine } from "../terminal/one-line.ts";
import { quoted } from "../terminal/quoted.ts";
import { printJson } from "../terminal/print.ts";
import { writeStdout } from "../terminal/standard-streams.ts";
import { resumeCommand, type SameOptions } from "../terminal/waiting-hints.ts";
import { table } from "../terminal/table.ts";
import { writePrivate } from "../write-private.ts";

export interface ShowOptions {
  readonly journal?: string;
  readonly json?: boolean;
  /** File for the page about it. */
  readonly html?: string;
  readonly tenant?: string;
}

/** `portcullis show`: shows one execution as the journal has it: its program or task, its calls, decisions and outcome. */
export async function show(named: string, options: ShowOptions): Promise<number> {
  if (options.json && options.html !== undefined)
    throw new Failure(EXIT.usage, "show: --json and --html are two ways to show it. Give one of them.");
  using journal = existingJournal(options.journal);
  const id = await findExecution(journal, named, options.tenant);
  if (options.html !== undefined) return await showAsPage(journal, id, options.html);
  if (options.json) {
    for await (const record of journal.read(id)) printJson(record);
    return EXIT.completed;
  }
  writeStdout(`${await shownText(journal, id, options)}\n`);
  return EXIT.completed;
}

/** Writes the page about an execution to a file that its owner alone can read: it holds what tools returned. */
async function showAsPage(journal: Journal, id: string, file: string): Promise<number> {
  const { htmlFile } = await import("../../serve/page/html-file.ts");
  const { html, left } = await htmlFile(journal, id);
  try {
    writePrivate(file, html);
  } catch (error) {
    throw new Failure(EXIT.usage, `show: ${file} cannot be written: ${reasonOf(error)}`);
  }
  writeStdout(`${pathToFileURL(resolve(file)).href}\n`);
  const [first] = left;
  if (first !== undefined)
    process.stderr.write(
      `portcullis: ${left.length} programs of the conversation are not in the file. Each can have a file of its own: portcullis show ${quoted(oneLine(first))} --html FILE\n`,
    );
  return EXIT.completed;
}

/** What `show` prints of an execution. Rejects with `journal_invalid` and as the journal does. */
export async function shownText(journal: Journal, id: string, options: SameOptions = {}): Promise<string> {
  const decisions: DecisionRecord[] = [];
  const past = await readPast(noting(journal.read(id), decisions));
  const { header } = past.state;
  if (!header) return "";
  const conversation = header.kind === "conversation" ? await readPastConversation(journal, id) : undefined;
  const lines = conversation ? conversation.use.lines : past.lines;
  const open = conversation ? openCallsOfConversation(conversation) : openCalls(past.state);
  const parts = [
    headText(header),
    conversation ? turnsText(conversation) : "",
    callsText(lines),
    decisionsText(decisions),
    past.outcome ? "" : openText(open, header),
    past.outcome
      ? ""
      : await driverText(
          journal,
          header,
          options,
          open.some((call) => isWaiting(call)),
        ),
    endText(past, lines),
  ];
  return cleanText(parts.filter((part) => part !== "").join("\n\n"));
}

/** The calls of a conversation without an answer: in place of a program's call, the calls of the program. */
function openCallsOfConversation({ open }: PastConversation): readonly UnansweredCall[] {
  return [...open.values()].flatMap((call) =>
    call.program ? openCalls(call.program.state).map((below) => ({ ...below, id: `${call.id}/${below.id}` })) : [call],
  );
}

/** The turns of the model. Its programs are executions of their own, which are shown by their ids. */
function turnsText(past: PastConversation): string {
  const { header, turns } = past;
  const texts = turns.map(({ said, turn, results }, index) => {
    const calls = turn.calls.map((call) => {
      const what =
        call.type === "tool_call"
          ? `${call.tool} ${call.inputText}`
          : `its program, execution ${childExecution(header.execution, call.id)}`;
      const result = results.get(call.id);
      return `  call ${call.id}: ${shortLine(what, LINE_LENGTH)} → ${result ? shortLine(result.text, LINE_LENGTH) : "no result yet"}`;
    });
    return [...said.map(saidText), `turn ${index + 1}: ${shortLine(turn.text, LINE_LENGTH)}`, ...calls].join("\n");
  });
  return [...texts, ...past.said.map(saidText), ...(isResting(past) ? [RESTS] : [])].join("\n\n");
}

const RESTS = "It waits for a message of the user: continue it with runtime.converse({ continue }).";

function saidText({ by, message }: SaidMessage): string {
  const text = typeof message === "string" ? message : message.map(partText).join(" ");
  return `${by === "user" ? "the user" : "the host"}: ${shortLine(text, LINE_LENGTH)}`;
}

function partText(part: MessagePart): string {
  return part.type === "text" ? part.text : `(${part.type}${part.name === undefined ? "" : ` ${part.name}`})`;
}

/** Length of a text of a turn in its line, in UTF-16 code units. */
const LINE_LENGTH = 200;

async function* noting(
  records: AsyncIterable<JournalRecord>,
  decisions: DecisionRecord[],
): AsyncGenerator<JournalRecord> {
  for await (const record of records) {
    if (record.type === "decision") decisions.push(record);
    yield record;
  }
}

function headText(header: Header): string {
  const { execution, kind, tenant, startedAt } = header;
  const lines = [
    `${kind} ${oneLine(execution)}`,
    `tenant ${oneLine(tenant)}, started ${new Date(startedAt).toISOString()}`,
  ];
  return [...lines, workText(header)].join("\n");
}

function workText(header: Header): string {
  switch (header.kind) {
    case "program":
      return programText(header);
    case "conversation":
      return taskText(header);
    case "call":
      return `${oneLine(header.tool)} as ${oneLine(header.caller)}:\n\n${insetText(header.input)}`;
  }
}

function programText({ language, sandbox, source }: ProgramHeader): string {
  return `${oneLine(language)} in ${oneLine(sandbox)}:\n\n${insetText(source.trimEnd())}`;
}

function taskText({ model, task }: ConversationHeader): string {
  return `${oneLine(model)}:\n\n${insetText(task.trimEnd())}`;
}

function callsText(lines: Past["lines"]): string {
  if (lines.length === 0) return "";
  const rows = lines.map(({ callId, tool, ms, bytes, outcome }) => [
    callId,
    tool,
    outcomeText(outcome),
    `${Math.round(ms)}`,
    byteText(bytes),
  ]);
  return table(["call", "tool", "outcome", "ms", "size"], rows, ["ms", "size"]);
}

function decisionsText(decisions: readonly DecisionRecord[]): string {
  if (decisions.length === 0) return "";
  const rows = decisions.map(({ call, allow, done, by, note, remember, remembered, at }) => [
    call,
    (done === undefined ? (allow ? "allowed" : "denied") : "said to be done") +
      (remember ? ", also later calls" : "") +
      (remembered === undefined ? "" : `, as call ${remembered}`),
    by ?? "",
    note ?? "",
    new Date(at).toISOString(),
  ]);
  return table(["call", "decision", "by", "note", "at"], rows);
}

function endText(past: Past, lines: Past["lines"]): string {
  const { state, outcome } = past;
  const isProgram = state.header?.kind === "program";
  // Only a program's calls are counted where it made them; those of others are known once they have ended.
  const calls = isProgram ? past.calls : lines.length;
  const resultBytes = isProgram ? past.resultBytes : lines.reduce((bytes, line) => bytes + line.bytes, 0);
  const fetched = `${calls} ${calls === 1 ? "call" : "calls"} made, ${byteText(resultBytes)} returned by tools${isProgram ? `, ${byteText(state.seenBytes)} given to the program` : ""}`;
  if (outcome) {
    const returned = state.settled?.body;
    const value =
      returned === undefined || !state.settled?.ok ? "" : `, ${byteText(Buffer.byteLength(returned))} returned by it`;
    return `outcome: ${oneLine(outcome.outcome)}\n${fetched}${value}`;
  }
  return fetched;
}

function openText(open: readonly UnansweredCall[], header: Header): string {
  if (open.length === 0) return "";
  return open
    .map((call) => oneLine(`call ${call.id}: ${call.tool} with ${call.inputText} ${stateOf(call, header)}`))
    .join("\n");
}

function stateOf(call: UnansweredCall, header: Header): string {
  const { decided, decision, result, answered } = call;
  if (isExpired(header, call)) return "has waited for too long (limit waitMs)";
  if (isWaiting(call) && decided?.decision === "client") return "waits for its result";
  if (isWaiting(call) && decided?.code === "outcome_unknown")
    return "waits for a decision: its host died while it ran, so it may have taken effect. --allow runs it again, --done says that it was done";
  if (isWaiting(call)) return "waits for approval";
  if (answered) return "has ended, and the program was not told yet";
  if (decision) return "is decided, and goes on when the execution is taken up";
  if (result) return "has its result, and goes on when the execution is taken up";
  return decided?.decision === "allowed" ? "was begun, and has no result" : "was made";
}

/** Whether a driver is at work, and how to go on if none is. */
async function driverText(
  journal: Journal,
  { execution, kind, tenant, parent }: Header,
  { journal: path }: SameOptions,
  isHeld: boolean,
): Promise<string> {
  const { lease } = await journal.find(execution);
  if (lease && lease.until > Date.now())
    return `A driver holds it until at least ${new Date(lease.until).toISOString()}.`;
  if (kind === "call") return "It has no driver, and cannot be taken up.";
  const same = { ...(path === undefined ? {} : { journal: path }), ...(tenant === "default" ? {} : { tenant }) };
  const within = parent ? `, and goes on with ${oneLine(parent.execution)}` : "";
  return `It has no driver${within}. ${isHeld ? "Decide or answer what waits, then take it up" : "Take it up"}, with the tools it began with: ${resumeCommand(parent?.execution ?? execution, same)}`;
}
