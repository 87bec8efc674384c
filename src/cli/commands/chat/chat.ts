import { monotonic } from "../../../clock.ts";
import { PortcullisError } from "../../../errors.ts";
import type { AgentEnding } from "../../../agent/ending.ts";
import { agentEndingText } from "../../../agent/ending-text.ts";
import type { AgentReport } from "../../../agent/agent-report.ts";
import type { AgentEvent } from "../../../agent/event.ts";
import type { Talk } from "../../../agent/converse.ts";
import type { ExecutionId } from "../../../journal/execution-id.ts";
import type { Approve } from "../../../gate/approve/approval.ts";
import { counted } from "../../../output/count-text.ts";
import { given } from "../../../option-rules/given.ts";
import type { CHAT, CommandOptions } from "../../command-options.ts";
import { agentExitCodeOf, EXIT } from "../../exit-code.ts";
import { checkConversation, existingJournal, optionalJournal } from "../../input/open-journal.ts";
import { loadFallbacks } from "../../input/load-model.ts";
import { answerFacts, turnsDone } from "../../terminal/chat/answer-text.ts";
import { createApprover } from "../../terminal/executions/ask-approvals.ts";
import { showConversation } from "../../terminal/executions/conversation-lines.ts";
import { printFailures } from "../../terminal/executions/operator-log.ts";
import { laidOut } from "../../terminal/chat/streamed-text.ts";
import { chatCommand, resumeCommand, sameOr, waitingHints } from "../../terminal/executions/waiting-hints.ts";
import { oneLine } from "../../terminal/one-line.ts";
import type { Screen } from "../../terminal/screen.ts";
import { standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { openRuntime, type OpenRuntime } from "../run/open-runtime.ts";
import { type ChatCommandResult, completeCommand, isCommand, runChatCommand } from "./chat-commands.ts";
import { type ChatInput, COUNTED, openChatInput } from "./chat-input.ts";
import { ControlC, type Pressed } from "./control-c.ts";
import { chatModel, type PastChat, pastLines, readPastChat } from "./past-chat.ts";

type ChatOptions = CommandOptions<typeof CHAT>;

/**
 * `portcullis chat`: a conversation with a model on a terminal, or with each line of a pipe as a message. Resolves with
 * the exit code: 0, that of the first message of a pipe without an answer, or 130 after Ctrl-C twice.
 */
export async function chat(options: ChatOptions): Promise<number> {
  const { stream, baseUrl, conversation, tenant, approveProgram = false } = options;
  checkConversation(conversation, options.journal);
  await using journal =
    conversation === undefined ? optionalJournal(options.journal) : existingJournal(options.journal);
  const past = conversation === undefined || !journal ? undefined : await readPastChat(journal, conversation, options);
  const models = { stream, ...given({ baseUrl }) };
  const model = await chatModel(options.model, past, models);
  const fallbacks = await loadFallbacks(options.fallback, models);
  const programs = past?.view.turns.flatMap((turn) => turn.programs.map(({ id }) => id)) ?? [];
  const control = new ControlC();
  // The runtime is there before the terminal is taken.
  const opened: { input?: ChatInput; screen?: Screen } = {};
  let approve: Approve = () => false;
  await using open = await openRuntime({ ...options, json: false }, journal, {
    tellsCalls: true,
    interrupt: () => opened.input?.lines !== undefined && pressed(control) !== "ended",
    limits: options.limit,
    approvePrograms: approveProgram,
    approve: (request) => approve(request),
    logger: { error: (entry, message) => opened.screen?.show(() => printFailures.error(entry, message)) },
    ...given({ tenant }),
  });
  const { runtime, signal } = open;
  const over = AbortSignal.any([signal, control.ended]);
  using messages = openChatInput({ completer: completeCommand, onInterrupt: () => pressed(control) === "armed" });
  Object.assign(opened, { input: messages, screen: open.screen });
  using approver = createApprover({
    mode: options.approve,
    screen: open.screen,
    canWait: journal !== undefined,
    isWhole: true,
    ...(messages.lines && { lines: messages.lines }),
  });
  approve = approver.approve;
  const { context: documents, reasoning: effort, programs: where, maxTurns, instructions, reuse } = options;
  const { parallelCalls, maxOutputTokens, allowChangedTools } = options;
  const talk = await runtime.converse({
    model,
    ...(past && { continue: past.view.execution, allowChangedTools: allowChangedTools === true }),
    ...(open.approve && { approve }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    ...(parallelCalls ? {} : { parallelCalls }),
    ...given({ programs: where, reuse, maxTurns, instructions, maxOutputTokens, reasoning: effort && { effort } }),
    onEvent: (event: AgentEvent) => {
      const began = event.type === "program_started" && event.execution === talk.execution ? event.callId : undefined;
      // A program that goes on after a wait begins again.
      if (began !== undefined && !programs.includes(began)) programs.push(began);
      show(event);
    },
  });
  const isInset = standardStreams().stdout.isTTY;
  const show = showConversation(open.screen, { conversation: talk.execution, isInset });
  const loop = new ChatLoop({
    options,
    open,
    talk,
    control,
    over,
    model: model.name,
    programs,
    past,
    isKept: journal !== undefined,
  });
  if (messages.lines) loop.greet();
  try {
    return await loop.run(messages);
  } finally {
    // With a journal it is left, so that it can be taken up under its id.
    await (journal && (past || loop.wasSaid) ? talk.leave() : talk[Symbol.asyncDispose]());
  }
}

/** Takes a Ctrl-C at a terminal, and tells what the next one does. */
function pressed(control: ControlC): Pressed {
  // The line that it was pressed in stays.
  writeStderr("\n");
  const what = control.press();
  if (what === "armed") writeStderr("Ctrl-C once more ends the conversation; so do /exit and Ctrl-D.\n");
  return what;
}

/** Cells of a line. */
const columns = () => standardStreams().stderr.columns || Number.POSITIVE_INFINITY;

interface ChatParts {
  readonly options: ChatOptions;
  readonly open: OpenRuntime;
  readonly talk: Talk;
  readonly control: ControlC;
  /** Aborted when the conversation is to end. */
  readonly over: AbortSignal;
  readonly model: string;
  readonly programs: readonly string[];
  /** What it was when it was taken up. */
  readonly past: PastChat | undefined;
  /** Whether a journal keeps it. */
  readonly isKept: boolean;
}

const NOT_KEPT = "Nothing of it is kept: with --journal FILE it is, and can be taken up again.";
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
    this.#note(`${oneLine(model)}, ${counted(tools, "tool")}. /help lists the commands.`);
    this.#note(isKept ? `Conversation ${oneLine(talk.execution)}` : NOT_KEPT);
    if (past)
      writeStderr(
        pastLines(past.view, columns())
          .map((line) => `${line}\n`)
          .join(""),
      );
    if (past?.goesOn) this.#note("It has not come to its end: /continue goes on. A message gives its open calls up.");
  }

  /** Lines of the command's own, broken between words. */
  #note(text: string): void {
    writeStderr(`${laidOut(text, columns())}\n`);
  }

  /** Resolves with the exit code. */
  async run(input: ChatInput): Promise<number> {
    const { control, over, open, past } = this.#parts;
    const isPerson = input.lines !== undefined;
    let code: number = EXIT.completed;
    for (;;) {
      const message = await input.next(over);
      if (message === undefined) break;
      control.disarm();
      const command = isPerson && isCommand(message) ? await this.#command(message) : undefined;
      if (command === "exit") break;
      if (command !== undefined && command !== "continue") continue;
      if (!isPerson && past?.goesOn && !this.#report)
        this.#note("portcullis: the conversation had calls without answers: the message gives them up.");
      const ending = await this.#say(command === "continue" ? undefined : message, isPerson);
      if (!ending) continue;
      // A script gets no further answer to a question that has none.
      code = isPerson ? code : agentExitCodeOf(ending);
      if (over.aborted || code !== EXIT.completed) break;
    }
    if (!isPerson) code = (await this.#endPipe(input)) ?? code;
    // What brings a pipe with a call that waits further was told: a new message would give the call up.
    if (this.#report && code !== EXIT.waiting) this.#tellHow(this.#report.execution);
    return open.end(over.aborted ? EXIT.cancelled : code, this.#report?.artifacts);
  }

  /** Says what a pipe has not done. Resolves with the exit code if nothing was said. */
  async #endPipe(input: ChatInput): Promise<number | undefined> {
    const { past, over, options } = this.#parts;
    const left = await input.left();
    const atLeast = left < COUNTED ? "" : "at least ";
    if (left > 0) this.#note(`portcullis: ${atLeast}${counted(left, "message")} of standard input not sent.`);
    if (this.#report || over.aborted) return undefined;
    this.#note(`portcullis: ${NO_MESSAGE}`);
    if (!past?.goesOn) return undefined;
    const { execution } = past.view;
    const same = sameOr(options, undefined);
    const hints = past.waits
      ? waitingHints(execution, past.waits, same)
      : [
          `portcullis: the conversation has not come to its end. Take it up, with:\n  ${resumeCommand(execution, same)}`,
        ];
    writeStderr(`${hints.join("\n")}\n`);
    return past.waits && EXIT.waiting;
  }

  async #command(line: string): Promise<ChatCommandResult> {
    const { open, talk, model, programs } = this.#parts;
    const state = { runtime: open.runtime, execution: talk.execution, model, programs, report: this.#report };
    const result = await runChatCommand(line, { ...state, columns: columns() });
    if (typeof result === "string") return result;
    if ("lines" in result) standardStreams().stderr.write(`${result.lines.join("\n")}\n`);
    else this.#note(result.text);
    return result;
  }

  /** Resolves with the ending; undefined if nothing was said. */
  async #say(message: string | undefined, isPerson: boolean): Promise<AgentEnding | undefined> {
    const { talk, control, over } = this.#parts;
    const interrupt = () => talk.interrupt();
    control.interrupts = interrupt;
    over.addEventListener("abort", interrupt);
    const since = monotonic();
    try {
      const report = await talk.say(message);
      this.#tell(report, monotonic() - since, isPerson);
      return report.ending;
    } catch (error) {
      if (message !== undefined || !PortcullisError.is(error) || error.code !== "option_invalid") throw error;
      writeStderr("There is nothing to go on with: the model has answered.\n");
      return undefined;
    } finally {
      control.interrupts = undefined;
      over.removeEventListener("abort", interrupt);
    }
  }

  #tell(report: AgentReport<unknown>, ms: number, isPerson: boolean): void {
    const { ending } = report;
    const { options, over } = this.#parts;
    const goesOn = isPerson && !over.aborted ? " Your next message goes on from here." : "";
    if (ending.type === "cancelled") this.#note(`Interrupted.${goesOn}`);
    else if (ending.type !== "answered") this.#note(`${ending.type}: ${oneLine(agentEndingText(ending))}`);
    for (const line of answerFacts(report, this.#turnsDone, ms).split("\n")) this.#note(line);
    if (ending.type === "waiting") {
      const hints = waitingHints(report.execution, ending, sameOr(options, undefined));
      // The last one takes it up elsewhere.
      const own = isPerson && ending.approvals.length > 0 ? hints.slice(0, -1) : hints;
      writeStderr(
        [...own, ...(isPerson ? ["portcullis: then /continue goes on."] : [])].map((hint) => `${hint}\n`).join(""),
      );
    }
    this.#report = report;
    this.#turnsDone = turnsDone(report);
  }

  /** Says how the conversation is taken up again. */
  #tellHow(execution: ExecutionId): void {
    const { options, isKept } = this.#parts;
    if (isKept) writeStderr(`Take it up again with:\n  ${chatCommand(execution, sameOr(options, undefined))}\n`);
  }
}
