import { countText, monotonic, PortcullisError } from "../../../base/index.ts";
import type { AgentEnding } from "../../../conversations/ending.ts";
import { agentEndingText } from "../../../conversations/index.ts";
import type { AgentReport } from "../../../conversations/agent-report.ts";
import type { AgentEvent } from "../../../conversations/event.ts";
import type { Conversation } from "../../../conversations/conversation.ts";
import type { Approve } from "../../../gate/approve/approval.ts";
import { groupedOptions } from "../../../conversations/agent-options.ts";
import type { CHAT, CommandOptions } from "../../command-options.ts";
import { agentExitCodeOf, EXIT } from "../../failure.ts";
import { existingJournal, needsJournal, optionalJournal } from "../../input/open-journal.ts";
import { loadFallbacks } from "../../input/load-module.ts";
import { createApprover, type Screen } from "../../terminal/executions/ask-approvals.ts";
import { showConversation } from "../../terminal/executions/conversation-lines.ts";
import { printFailures, takenText } from "../../terminal/executions/print-report.ts";
import { turnLines } from "../../terminal/executions/execution-text.ts";
import { duration } from "../../../serve/views/words.ts";
import { chatCommand, resumeCommand, sameOr, waitingHints } from "../../terminal/executions/waiting-hints.ts";
import { oneLine, standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { openRuntime, type OpenRuntime } from "../run/open-runtime.ts";
import { type ChatInput, openChatInput } from "./chat-input.ts";
import { chatModel, type PastChat, readPastChat } from "./past-chat.ts";

type ChatOptions = CommandOptions<typeof CHAT>;

/**
 * `portcullis chat`: a conversation with a model on a terminal, or with each line of a pipe as a message. Resolves with
 * the exit code: 0, that of the first message of a pipe without an answer, or 130 after Ctrl-C twice.
 */
export async function chat(options: ChatOptions): Promise<number> {
  const { stream, baseUrl, id, tenant, approveProgram = false } = options;
  needsJournal("--id", id, options.journal);
  await using journal = id === undefined ? optionalJournal(options.journal) : existingJournal(options.journal);
  const past = id === undefined || !journal ? undefined : await readPastChat(journal, id, options);
  const models = { stream, baseUrl };
  const model = await chatModel(options.model, past, models);
  const fallbacks = await loadFallbacks(options.fallback, models);
  const control = new ControlC();
  // The runtime is there before the terminal is taken.
  const opened: { input?: ChatInput; screen?: Screen } = {};
  let approve: Approve = () => false;
  await using open = await openRuntime({ ...options, json: false }, journal, {
    tellsCalls: true,
    interrupt: () => opened.input?.lines !== undefined && control.press() !== "ended",
    limits: options.limit,
    approvePrograms: approveProgram,
    approve: (request) => approve(request),
    logger: { error: (entry, message) => opened.screen?.show(() => printFailures.error(entry, message)) },
    tenant,
  });
  const { runtime, signal } = open;
  const over = AbortSignal.any([signal, control.end.signal]);
  using messages = openChatInput(() => control.press() === "armed");
  Object.assign(opened, { input: messages, screen: open.screen });
  using approver = createApprover({
    mode: options.approve,
    screen: open.screen,
    canWait: journal !== undefined,
    lines: messages.lines,
  });
  approve = approver.approve;
  const { context: documents, instructions, set, allowChangedTools } = options;
  const talk = await runtime.conversation({
    ...groupedOptions(set),
    model,
    // One that is taken up has what it began with.
    ...(documents.length === 0 ? {} : { documents }),
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    ...(past && {
      [past.view.state === "ended" ? "from" : "id"]: past.view.execution,
      allowChangedTools: allowChangedTools === true,
    }),
    ...(open.approve && { approve }),
    instructions,
    onEvent: (event: AgentEvent) => show(event),
  });
  const isInset = standardStreams().stdout.isTTY;
  const show = showConversation(open.screen, { conversation: talk.id, isInset });
  const isKept = journal !== undefined;
  const loop = new ChatLoop({ options, open, talk, control, over, model: model.name, past, isKept });
  if (messages.lines) loop.greet();
  try {
    return await loop.run(messages);
  } finally {
    // With a journal it is left, so that it can be taken up under its id.
    await (journal && (past || loop.wasSaid) ? talk.leave() : talk[Symbol.asyncDispose]());
  }
}

/** Turns that are shown of a conversation that is taken up. */
const SHOWN = 6;
/** What a person may say to the command in place of a message. */
const [CONTINUE, EXIT_CHAT] = ["/continue", "/exit"];

interface ChatParts {
  readonly options: ChatOptions;
  readonly open: OpenRuntime;
  readonly talk: Conversation;
  readonly control: ControlC;
  /** Aborted when the conversation is to end. */
  readonly over: AbortSignal;
  readonly model: string;
  /** What it was when it was taken up. */
  readonly past: PastChat | undefined;
  /** Whether a journal keeps it. */
  readonly isKept: boolean;
}

const NOT_KEPT = "Nothing of it is kept: with --journal FILE it is, and can be resumed.";
const NO_MESSAGE =
  "Nothing was said: standard input had no message. Each of its lines that is not empty is one; on a terminal you are asked for them.";

/** Takes messages, one after the other, and says what came of each. */
class ChatLoop {
  readonly #parts: ChatParts;
  #report: AgentReport<unknown> | undefined;
  #turnsDone: number;

  constructor(parts: ChatParts) {
    const { past } = parts;
    this.#parts = parts;
    this.#turnsDone = past ? past.view.turns.length - (past.goesOn ? 1 : 0) : 0;
  }

  get wasSaid(): boolean {
    return this.#report !== undefined;
  }

  greet(): void {
    const { model, open, talk, past, isKept } = this.#parts;
    const tools = open.runtime.tools.all.length;
    this.#note(`${oneLine(model)}, ${countText(tools, "tool")}. ${EXIT_CHAT} or Ctrl-D ends, Ctrl-C interrupts.`);
    this.#note(isKept ? `Conversation ${oneLine(talk.id)}` : NOT_KEPT);
    for (const line of past ? turnLines(past.view, Math.max(0, past.view.turns.length - SHOWN)) : []) this.#note(line);
    if (past?.view.state === "ended") this.#note("It has ended, so it continues as a new conversation.");
    if (past?.goesOn)
      this.#note(`It has not come to its end: ${CONTINUE} continues it. A message gives its open calls up.`);
  }

  #note(text: string): void {
    writeStderr(`${text}\n`);
  }

  /** Resolves with the exit code. */
  async run(input: ChatInput): Promise<number> {
    const { options, control, over, open, past, isKept } = this.#parts;
    const isPerson = input.lines !== undefined;
    let code: number = EXIT.completed;
    for (;;) {
      const message = await input.next(over);
      if (message === undefined) break;
      control.isArmed = false;
      const command = isPerson ? message.trim() : undefined;
      if (command === EXIT_CHAT) break;
      if (!isPerson && past?.goesOn && !this.#report)
        this.#note("portcullis: the conversation had calls without answers: the message gives them up.");
      const ending = await this.#say(command === CONTINUE ? undefined : message, isPerson);
      if (!ending) continue;
      // A script gets no further answer to a question that has none.
      code = isPerson ? code : agentExitCodeOf(ending);
      if (over.aborted || code !== EXIT.completed) break;
    }
    if (code !== EXIT.completed) this.#note("portcullis: no further message of standard input was sent.");
    if (!isPerson && !this.#report && !over.aborted) code = this.#endSilent();
    // What brings a pipe with a call that waits further was told: a new message would give the call up.
    if (this.#report && isKept && code !== EXIT.waiting)
      this.#note(`Resume it with:\n  ${chatCommand(this.#report.execution, sameOr(options, undefined))}`);
    return open.end(over.aborted ? EXIT.cancelled : code, this.#report?.artifacts);
  }

  /** Says that a pipe had no message, and what brings a conversation that waits further. Gives the exit code. */
  #endSilent(): number {
    const { past, options } = this.#parts;
    this.#note(`portcullis: ${NO_MESSAGE}`);
    if (!past?.goesOn) return EXIT.completed;
    const { execution } = past.view;
    const same = sameOr(options, undefined);
    const resume = `portcullis: the conversation has not come to its end. Resume it, with:\n  ${resumeCommand(execution, same)}`;
    for (const hint of past.waits ? waitingHints(execution, past.waits, same) : [resume]) this.#note(hint);
    return past.waits ? EXIT.waiting : EXIT.completed;
  }

  /** Resolves with the ending; undefined if nothing was said. */
  async #say(message: string | undefined, isPerson: boolean): Promise<AgentEnding | undefined> {
    const { talk, control, over } = this.#parts;
    const interrupt = () => talk.interrupt();
    control.interrupts = interrupt;
    over.addEventListener("abort", interrupt);
    const since = monotonic();
    try {
      const report = await talk.send(message);
      this.#tell(report, monotonic() - since, isPerson);
      return report.ending;
    } catch (error) {
      if (message !== undefined || !PortcullisError.is(error) || error.code !== "option_invalid") throw error;
      this.#note("There is nothing to continue: the model has answered.");
      return undefined;
    } finally {
      control.interrupts = undefined;
      over.removeEventListener("abort", interrupt);
    }
  }

  #tell(report: AgentReport<unknown>, ms: number, isPerson: boolean): void {
    const { ending } = report;
    const { options, over } = this.#parts;
    const goesOn = isPerson && !over.aborted ? " Your next message continues from here." : "";
    if (ending.type === "cancelled") this.#note(`Interrupted.${goesOn}`);
    else if (ending.type !== "answered") this.#note(`${ending.type}: ${oneLine(agentEndingText(ending))}`);
    const { turns } = report.transcript;
    const sum = (name: "inputTokens" | "outputTokens") =>
      turns.slice(this.#turnsDone).reduce((all, { turn }) => all + turn.usage[name], 0);
    const tokens = { inputTokens: sum("inputTokens"), outputTokens: sum("outputTokens") };
    this.#note(`${takenText(report, this.#turnsDone, tokens)}, ${duration(ms)}`);
    if (ending.type === "waiting") {
      const hints = waitingHints(report.execution, ending, sameOr(options, undefined));
      // The last one takes it up elsewhere.
      for (const hint of isPerson && ending.approvals.length > 0 ? hints.slice(0, -1) : hints) this.#note(hint);
      if (isPerson) this.#note(`portcullis: then ${CONTINUE} continues it.`);
    }
    this.#report = report;
    // The last turn goes on if its calls wait.
    this.#turnsDone = ending.type === "waiting" ? Math.max(0, turns.length - 1) : turns.length;
  }
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
