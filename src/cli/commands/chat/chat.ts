import { addAbortListener } from "node:events";
import { countText, now, PortcullisError, hasCode } from "../../../base/index.ts";
import type { AgentReport } from "../../../conversations/agent-report.ts";
import { groupedOptions } from "../../../conversations/agent-options.ts";
import type { Conversation } from "../../../conversations/conversation.ts";
import type { AgentEvent } from "../../../conversations/event.ts";
import { agentEndingText } from "../../../conversations/index.ts";
import { readLines } from "../../../journal/reading/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Model } from "../../../models/model.ts";
import type { ConversationView } from "../../../serve/views/view.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import type { CHAT, CommandOptions, SameOptions } from "../../command-options.ts";
import { agentExitCodeOf, EXIT, CommandFailure, UsageFailure } from "../../failure.ts";
import { loadFallbacks, loadModel, type ModelOptions, recordedModel } from "../../input/load-module.ts";
import { existingJournal, findExecution, needsJournal, optionalJournal } from "../../input/open-journal.ts";
import { showConversation, totalsText } from "../../terminal/executions/print-report.ts";
import { turnLines, waitingLines } from "../../terminal/executions/execution-text.ts";
import {
  chatCommand,
  flags,
  resumeCommand,
  shellQuoted,
  waitingHints,
} from "../../terminal/executions/waiting-hints.ts";
import { oneLine, standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { type AnswerLines, terminalLines } from "../../terminal/terminal-lines.ts";
import { openRuntime, type OpenRuntime } from "../run/open-runtime.ts";

type ChatOptions = CommandOptions<typeof CHAT>;

/**
 * `portcullis chat`: a conversation with a model on a terminal, or with each line of a pipe as a message. Resolves with
 * the exit code: 0, that of the first message of a pipe without an answer, or 130 after Ctrl-C twice.
 */
export async function chat(options: ChatOptions): Promise<number> {
  const { stream, baseUrl, id, tenant } = options;
  needsJournal("--id", id, options.journal);
  await using journal = id === undefined ? optionalJournal(options.journal) : existingJournal(options.journal);
  const past = id === undefined ? undefined : await readPast(journal!, id, options);
  const models = { stream, baseUrl };
  const model = await chatModel(options.model, past, models);
  const fallbacks = await loadFallbacks(options.fallback, models);
  const control = new ControlC();
  // The terminal is read with the first question.
  const input = openChatInput(() => control.press() === "armed");
  await using open = await openRuntime({ ...options, json: false }, journal, {
    tellsCalls: true,
    lines: input.lines,
    interrupt: () => input.lines !== undefined && control.press() !== "ended",
    tenant,
  });
  const { context: documents, instructions, set, allowChangedTools } = options;
  const talk = await open.runtime.conversation({
    ...groupedOptions(set),
    model,
    // One that is taken up has what it began with.
    documents: documents.length > 0 ? documents : undefined,
    fallbacks,
    ...(past && { [past.outcome ? "from" : "id"]: past.execution, allowChangedTools: allowChangedTools === true }),
    approve: open.approve,
    instructions,
    onEvent: (event: AgentEvent) => show(event),
  });
  const show = showConversation(open.screen, { conversation: talk.id, isInset: standardStreams().stdout.isTTY });
  const over = AbortSignal.any([open.signal, control.end.signal]);
  try {
    return await converse({ options, open, talk, control, over, model, past, isKept: journal !== undefined }, input);
  } finally {
    input[Symbol.dispose]();
  }
}

/** A conversation of the journal that is taken up. */
async function readPast(journal: Journal, named: string, options: SameOptions): Promise<ConversationView> {
  const execution = await findExecution(journal, named, options.tenant ?? "default");
  const view = await viewExecution(journal, execution);
  if (view.kind !== "conversation")
    throw new UsageFailure(`--id: ${oneLine(named)} is a ${view.kind}, and no conversation.`);
  const { drivenUntil } = view;
  if (drivenUntil === undefined) return view;
  // A conversation has one driver. Another one that has just died holds it for as long as its lease lasts.
  const seconds = countText(Math.max(1, Math.ceil((drivenUntil - now()) / 1000)), "second");
  throw new CommandFailure(
    EXIT.environment,
    `--id: ${oneLine(execution)} is open in another process. End it there (/exit), then start this command again; if that process has died, wait ${seconds}. This shows it meanwhile: portcullis show ${shellQuoted(execution)} --follow${flags({ tenant: options.tenant, journal: options.journal })}`,
  );
}

/** Whether it goes on without a new message: its host died, or its calls wait. */
function goesOn(past: ConversationView | undefined): past is ConversationView {
  return past !== undefined && !past.outcome && !past.rests;
}

/** The model of `--model`, or else the one that the conversation has. */
async function chatModel(
  named: string | undefined,
  past: ConversationView | undefined,
  options: ModelOptions,
): Promise<Model> {
  if (named !== undefined) return loadModel(named, options);
  if (past) return recordedModel(past.model, options);
  throw new UsageFailure("chat needs --model PROVIDER:NAME, or --id ID, which takes a conversation of the journal up.");
}

/** Turns that are shown of a conversation that is taken up. */
const SHOWN = 6;
/** What a person may say to the command in place of a message. */
const [CONTINUE, EXIT_CHAT] = ["/continue", "/exit"];

interface Chatting {
  readonly options: ChatOptions;
  readonly open: OpenRuntime;
  readonly talk: Conversation;
  readonly control: ControlC;
  /** Aborted when the conversation is to end. */
  readonly over: AbortSignal;
  readonly model: Model;
  /** What it was when it was taken up. */
  readonly past: ConversationView | undefined;
  /** Whether a journal keeps it. */
  readonly isKept: boolean;
}

const NOT_KEPT = "Nothing of it is kept: with --journal FILE it is, and can be resumed.";
const NO_MESSAGE =
  "portcullis: Nothing was said: standard input had no message. Each of its lines that is not empty is one; on a terminal you are asked for them.";

function note(text: string): void {
  writeStderr(`${text}\n`);
}

/** Takes messages, one after the other, and says what came of each. Resolves with the exit code. */
async function converse(chatting: Chatting, input: ChatInput): Promise<number> {
  const { options, control, over, open, talk, past, isKept } = chatting;
  const isPerson = input.lines !== undefined;
  if (isPerson) greet(chatting);
  let report: AgentReport<unknown> | undefined;
  let code: number = EXIT.completed;
  try {
    while (code === EXIT.completed && !over.aborted) {
      const message = await input.next(over);
      if (message === undefined) break;
      control.isArmed = false;
      const command = isPerson ? message.trim() : undefined;
      if (command === EXIT_CHAT) break;
      if (!isPerson && goesOn(past) && !report)
        note("portcullis: the conversation had calls without answers: the message gives them up.");
      const reply = await send(chatting, command === CONTINUE ? undefined : message);
      if (!reply) continue;
      report = reply;
      tell(chatting, report, isPerson);
      // A script gets no further answer to a question that has none.
      if (!isPerson) code = agentExitCodeOf(report.ending);
    }
    if (code !== EXIT.completed) note("portcullis: no further message of standard input was sent.");
    if (!isPerson && !report && !over.aborted) code = endSilent(chatting);
    // What brings a pipe with a call that waits further was told: a new message would give the call up.
    if (report && isKept && code !== EXIT.waiting) note(`Resume it with:\n  ${chatCommand(report.execution, options)}`);
    return await open.end(over.aborted ? EXIT.cancelled : code, report?.artifacts);
  } finally {
    // With a journal it is left, so that it can be taken up under its id.
    await (isKept && (past ?? report) ? talk.leave() : talk[Symbol.asyncDispose]());
  }
}

function greet({ model, open, talk, past, isKept }: Chatting): void {
  const tools = countText(open.runtime.tools.all.length, "tool");
  note(`${oneLine(model.name)}, ${tools}. ${EXIT_CHAT} or Ctrl-D ends, Ctrl-C interrupts.`);
  note(isKept ? `Conversation ${oneLine(talk.id)}` : NOT_KEPT);
  if (!past) return;
  for (const line of turnLines(past, Math.max(0, past.turns.length - SHOWN))) note(line);
  if (past.outcome) note("It has ended, so it continues as a new conversation.");
  if (goesOn(past)) note(`It has not come to its end: ${CONTINUE} continues it. A message gives its open calls up.`);
}

/** Says that a pipe had no message, and what brings a conversation that waits further. Gives the exit code. */
function endSilent({ past, options }: Chatting): number {
  note(NO_MESSAGE);
  if (!goesOn(past)) return EXIT.completed;
  for (const line of waitingLines(past, options)) note(line);
  const command = resumeCommand(past.execution, options);
  note(`portcullis: the conversation has not come to its end. Resume it, with:\n  ${command}`);
  return past.waiting.length > 0 ? EXIT.waiting : EXIT.completed;
}

/** Undefined if nothing was said. */
async function send({ talk, control, over }: Chatting, message: string | undefined) {
  const interrupt = () => talk.interrupt();
  control.interrupts = interrupt;
  over.addEventListener("abort", interrupt);
  try {
    return await talk.send(message);
  } catch (error) {
    if (message !== undefined || !hasCode(error, "option_invalid")) throw error;
    return note("There is nothing to continue: the model has answered.");
  } finally {
    control.interrupts = undefined;
    over.removeEventListener("abort", interrupt);
  }
}

function tell({ options, over }: Chatting, report: AgentReport<unknown>, isPerson: boolean): void {
  const { ending } = report;
  if (ending.type === "cancelled")
    note(`Interrupted.${isPerson && !over.aborted ? " Your next message continues from here." : ""}`);
  else if (ending.type !== "answered") note(`${ending.type}: ${oneLine(agentEndingText(ending))}`);
  note(totalsText(report));
  if (ending.type !== "waiting") return;
  const hints = waitingHints(report.execution, ending, options);
  // The last one takes it up elsewhere.
  for (const hint of isPerson && ending.approvals.length > 0 ? hints.slice(0, -1) : hints) note(hint);
  if (isPerson) note(`portcullis: then ${CONTINUE} continues it.`);
}

/** Ctrl-C in a conversation: it interrupts what is under way, and the second one, before anything else was typed, ends. */
class ControlC {
  /** Aborted when the conversation is to end. */
  readonly end = new AbortController();
  /** Whether the next one ends. */
  isArmed = false;
  /** What the next Ctrl-C interrupts; nothing if it is undefined. */
  interrupts: (() => void) | undefined;

  /** Takes one at a terminal, and tells what the next one does. */
  press(): "interrupted" | "armed" | "ended" {
    // The line that it was pressed in stays.
    writeStderr("\n");
    if (this.isArmed) {
      this.end.abort();
      return "ended";
    }
    this.isArmed = true;
    this.interrupts?.();
    if (this.interrupts) return "interrupted";
    writeStderr("Ctrl-C once more ends the conversation; so do /exit and Ctrl-D.\n");
    return "armed";
  }
}

/** Longest message of a pipe, in bytes. */
const MESSAGE_BYTES = 4 * 1024 * 1024;
const PROMPT = "› ";

/** Where the messages of a conversation come from. */
interface ChatInput extends Disposable {
  /** The lines of the person who types at a terminal. Undefined for a pipe. */
  readonly lines: AnswerLines | undefined;
  /** The next message that is not empty; undefined once there is none, or if the signal is aborted. */
  next(signal: AbortSignal): Promise<string | undefined>;
}

/** Messages from the lines of a terminal, or from a pipe. */
function openChatInput(onInterrupt: () => boolean): ChatInput {
  const { stdin, stderr } = standardStreams();
  if (!stdin.isTTY) return pipedMessages(stdin);
  const lines = terminalLines(stdin, stderr, onInterrupt);
  return {
    lines,
    next: (signal) => nextTyped(lines, signal),
    [Symbol.dispose]: () => lines[Symbol.dispose](),
  };
}

async function nextTyped(lines: AnswerLines, signal: AbortSignal): Promise<string | undefined> {
  for (;;) {
    const answer = await lines.ask(PROMPT, signal);
    if (answer.type === "ended") writeStderr("\n");
    if (answer.type !== "line") return undefined;
    if (answer.text.trim() !== "") return answer.text;
  }
}

function pipedMessages(stdin: NodeJS.ReadStream): ChatInput {
  const read = readLines(stdin as AsyncIterable<Uint8Array>, MESSAGE_BYTES);
  const next = async (signal: AbortSignal): Promise<string | undefined> => {
    const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
    using _ = addAbortListener(signal, () => resolve(undefined));
    try {
      while (!signal.aborted) {
        const line = await Promise.race([read.next(), aborted]);
        if (!line || line.done) return undefined;
        if (line.value.trim() !== "") return line.value;
      }
      return undefined;
    } catch (error) {
      if (!PortcullisError.is(error)) throw error;
      throw new UsageFailure(
        `A message on standard input is longer than ${MESSAGE_BYTES} bytes, or is not UTF-8. Each line is a message.`,
        { cause: error },
      );
    }
  };
  return { lines: undefined, next, [Symbol.dispose]: () => void stdin.destroy() };
}
