import { readPastConversation, waitingOfConversation } from "../../agent/past-conversation.ts";
import { outcomeText } from "../../gate/call-line.ts";
import type { Journal } from "../../journal/journal.ts";
import type { ConversationHeader, DecisionRecord, Header, JournalRecord, ProgramHeader } from "../../journal/record.ts";
import { cleanText } from "../../output/clean-text.ts";
import { insetText } from "../../output/foreign-text.ts";
import { byteText } from "../../output/sentences.ts";
import { type Past, readPast } from "../../programs/past-execution.ts";
import { type Waiting, waitingOf } from "../../programs/waiting.ts";
import { EXIT } from "../exit-code.ts";
import { existingJournal } from "../input/open-journal.ts";
import { oneLine } from "../terminal/one-line.ts";
import { printJson } from "../terminal/print.ts";
import { writeStdout } from "../terminal/standard-streams.ts";
import { table } from "../terminal/table.ts";

/** `portcullis show`: shows one execution as the journal has it: its program or task, its calls, decisions and outcome. */
export async function show(
  id: string,
  options: { readonly journal?: string; readonly json?: boolean },
): Promise<number> {
  using journal = existingJournal(options.journal);
  if (options.json) {
    for await (const record of journal.read(id)) printJson(record);
    return EXIT.completed;
  }
  writeStdout(`${await shownText(journal, id)}\n`);
  return EXIT.completed;
}

/** What `show` prints of an execution. Rejects with `journal_invalid` and as the journal does. */
export async function shownText(journal: Journal, id: string): Promise<string> {
  const decisions: DecisionRecord[] = [];
  const past = await readPast(noting(journal.read(id), decisions));
  const { header } = past.state;
  const isOpenConversation = header?.kind === "conversation" && past.outcome === undefined;
  const waiting = isOpenConversation ? await waitingInConversation(journal, id) : waitingOf(past.state);
  const parts = header ? [headText(header), callsText(past), decisionsText(decisions), endText(past, waiting)] : [];
  return cleanText(parts.filter((part) => part !== "").join("\n\n"));
}

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

function callsText({ lines }: Past): string {
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
      (remember ? ", remembered" : "") +
      (remembered === undefined ? "" : `, as call ${remembered}`),
    by ?? "",
    note ?? "",
    new Date(at).toISOString(),
  ]);
  return table(["call", "decision", "by", "note", "at"], rows);
}

async function waitingInConversation(journal: Journal, id: string): Promise<Waiting | undefined> {
  return waitingOfConversation(await readPastConversation(journal, id));
}

function endText(past: Past, waiting: Waiting | undefined): string {
  const { state, resultBytes, seenBytes, outcome } = past;
  // Only a program's calls are counted where it made them; those of others are known once they have ended.
  const calls = state.header?.kind === "program" ? past.calls : past.lines.length;
  const fetched = `${calls} ${calls === 1 ? "call" : "calls"} made, ${byteText(resultBytes)} returned by tools${state.header?.kind === "program" ? `, ${byteText(seenBytes)} given to the program` : ""}`;
  if (outcome) {
    const returned = state.settled?.body;
    const value =
      returned === undefined || !state.settled?.ok ? "" : `, ${byteText(Buffer.byteLength(returned))} returned by it`;
    return `outcome: ${oneLine(outcome.outcome)}\n${fetched}${value}`;
  }
  if (!waiting) return `It has no outcome yet.\n${fetched}`;
  const lines = [
    ...waiting.approvals.map(
      ({ callId, tool, input }) => `call ${callId}: ${tool} waits for approval of ${JSON.stringify(input)}`,
    ),
    ...waiting.calls.map(
      ({ callId, tool, input }) => `call ${callId}: ${tool} waits for its result, asked with ${JSON.stringify(input)}`,
    ),
  ];
  return `It waits:\n${lines.map((line) => `  ${oneLine(line)}`).join("\n")}\n${fetched}`;
}
