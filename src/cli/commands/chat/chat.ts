import { PortcullisError } from "../../../errors.ts";
import type { AgentEnding } from "../../../agent/ending.ts";
import { agentEndingText } from "../../../agent/ending-text.ts";
import type { AgentReport } from "../../../agent/agent-report.ts";
import type { AgentEvent } from "../../../agent/event.ts";
import type { Talk } from "../../../agent/converse.ts";
import type { Approve } from "../../../gate/approve/approval.ts";
import { counted } from "../../../output/count-text.ts";
import { given } from "../../../option-rules/given.ts";
import type { CHAT, CommandOptions } from "../../command-options.ts";
import { agentExitCodeOf, EXIT } from "../../exit-code.ts";
import { checkConversation, existingJournal, optionalJournal } from "../../input/open-journal.ts";
import { loadFallbacks } from "../../input/load-model.ts";
import { answerFacts, turnsDone } from "../../terminal/chat/answer-text.ts";
import { styled } from "../../terminal/chat/code-lines.ts";
import { createApprover } from "../../terminal/executions/ask-approvals.ts";
import { printFailures } from "../../terminal/executions/operator-log.ts";
import { chatCommand, sameOr, waitingHints } from "../../terminal/executions/waiting-hints.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { openRuntime, type OpenRuntime } from "../run/open-runtime.ts";
import { type ChatCommandResult, completeCommand, isCommand, runChatCommand } from "./chat-commands.ts";
import { type ChatInput, openChatInput } from "./chat-input.ts";
import { type ChatScreen, openChatScreen } from "./chat-screen.ts";
import { ControlC, type Pressed } from "./control-c.ts";
import { chatModel, pastLines, pastMessages, readPastChat } from "./past-chat.ts";

type ChatOptions = CommandOptions<typeof CHAT>;

/**
 * `portcullis chat`: a conversation with a model on a terminal, or with each line of a pipe as a message. Resolves with
 * the exit code: 0, that of the first message of a pipe without an answer, or 130 after Ctrl-C twice.
 */
export async function chat(options: ChatOptions): Promise<number> {
  const { stream, baseUrl, conversation, tenant, approveProgram = false } = options;
  checkConversation(conversation, options.journal);
  using journal = conversation === undefined ? optionalJournal(options.journal) : existingJournal(options.journal);
  const past =
    conversation === undefined || !journal ? undefined : await readPastChat(journal, conversation, tenant ?? "default");
  const models = { stream, ...given({ baseUrl }) };
  const model = await chatModel(options.model, past, models);
  const fallbacks = await loadFallbacks(options.fallback, models);
  const programs = past?.view.turns.flatMap((turn) => turn.programs.map(({ id }) => id)) ?? [];
  const control = new ControlC();
  // The runtime is there before the terminal is taken.
  const opened: { input?: ChatInput; screen?: ChatScreen } = {};
  let approve: Approve = () => false;
  await using open = await openRuntime({ ...options, json: false }, journal, {
    tellsCalls: true,
    interrupt: () => opened.input?.isPerson === true && pressed(control, opened.screen) !== "ended",
    limits: options.limit,
    approvePrograms: approveProgram,
    approve: (request) => approve(request),
    logger: { error: (entry, message) => opened.screen?.above(() => printFailures.error(entry, message)) },
    ...given({ tenant }),
  });
  const { runtime, signal } = open;
  const over = AbortSignal.any([signal, control.ended]);
  using messages = openChatInput({
    completer: completeCommand,
    history: past ? pastMessages(past.view) : [],
    onInterrupt: (hasDiscarded) => hasDiscarded || pressed(control, opened.screen),
  });
  opened.input = messages;
  using shown = openChatScreen(open.screen, messages.canDraw, programs);
  opened.screen = shown;
  using approver = createApprover({
    mode: options.approve,
    screen: open.screen,
    canWait: journal !== undefined,
    isWhole: true,
    callerOf: shown.callerOf,
    ...(messages.lines && { lines: messages.lines }),
  });
  approve = async (request) => {
    using _ = shown.hold();
    return await approver.approve(request);
  };
  const { context: documents, reasoning: effort, programs: where, maxTurns, instructions } = options;
  const { parallelCalls, maxOutputTokens, allowChangedTools } = options;
  const talk = await runtime.converse({
    model,
    ...(past && { continue: past.view.execution, allowChangedTools: allowChangedTools === true }),
    ...(open.approve && { approve }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    ...(parallelCalls ? {} : { parallelCalls }),
    ...given({ programs: where, maxTurns, instructions, maxOutputTokens, reasoning: effort && { effort } }),
    onEvent: (event: AgentEvent) => {
      if (event.type === "program_started" && event.execution === talk.execution) programs.push(event.callId);
      shown.onEvent(event);
    },
  });
  const loop = new ChatLoop({
    options,
    open,
    talk,
    control,
    over,
    screen: shown,
    model: model.name,
    programs,
    isKept: journal !== undefined,
  });
  if (messages.isPerson) loop.greet(past ? pastLines(past.view, shown.columns) : [], past?.goesOn === true);
  try {
    return await loop.run(messages, past ? past.view.turns.length - (past.goesOn ? 1 : 0) : 0);
  } finally {
    // With a journal it is left, so that it can be taken up under its id.
    await (journal && loop.wasSaid(past !== undefined) ? talk.leave() : talk[Symbol.asyncDispose]());
  }
}

/** Takes a Ctrl-C at a terminal, and tells what the next one does. */
function pressed(control: ControlC, screen: ChatScreen | undefined): Pressed {
  const what = control.press();
  if (what === "armed")
    screen?.above(() => writeStderr("Ctrl-C once more ends the conversation; so do /exit and Ctrl-D.\n"));
  return what;
}

interface ChatParts {
  readonly options: ChatOptions;
  readonly open: OpenRuntime;
  readonly talk: Talk;
  readonly control: ControlC;
  /** Aborted when the conversation is to end. */
  readonly over: AbortSignal;
  readonly screen: ChatScreen;
  readonly model: string;
  readonly programs: readonly string[];
  /** Whether a journal keeps it. */
  readonly isKept: boolean;
}

/** Takes messages, one after the other, and says what came of each. */
class ChatLoop {
  readonly #parts: ChatParts;
  #report: AgentReport<unknown> | undefined;
  #turnsDone = 0;

  constructor(parts: ChatParts) {
    this.#parts = parts;
  }

  /** Whether there is something to be taken up again. */
  wasSaid(isTakenUp: boolean): boolean {
    return isTakenUp || this.#report !== undefined;
  }

  greet(past: readonly string[], goesOn: boolean): void {
    const { model, open, talk } = this.#parts;
    const tools = open.runtime.tools.all.length;
    const lines = [
      `${oneLine(model)}, ${counted(tools, "tool")}. /help lists the commands.`,
      `Conversation ${oneLine(talk.execution)}`,
      ...past,
      ...(goesOn ? ["It has not come to its end: /continue goes on. A message gives its open calls up."] : []),
    ];
    writeStderr(`${lines.join("\n")}\n`);
  }

  /** Resolves with the exit code. `turnsDone` is the number of turns that were done before. */
  async run(input: ChatInput, turnsDoneBefore: number): Promise<number> {
    const { control, over, open } = this.#parts;
    this.#turnsDone = turnsDoneBefore;
    let code: number = EXIT.completed;
    for (;;) {
      const message = await input.next(over);
      if (message === undefined) break;
      control.disarm();
      const command = input.isPerson && isCommand(message) ? await this.#command(message) : undefined;
      if (command === "exit") break;
      if (command !== undefined && command !== "continue") continue;
      const ending = await this.#say(command === "continue" ? undefined : message);
      if (!ending) continue;
      // A script gets no further answer to a question that has none.
      code = input.isPerson ? code : agentExitCodeOf(ending);
      if (over.aborted || code !== EXIT.completed) break;
    }
    if (this.#report) this.#tellHow(this.#report);
    return open.end(over.aborted ? EXIT.cancelled : code, this.#report?.artifacts);
  }

  async #command(line: string): Promise<ChatCommandResult> {
    const { open, talk, model, programs, screen } = this.#parts;
    const { columns, hasColours } = screen;
    const { runtime } = open;
    const state = { runtime, execution: talk.execution, model, programs, report: this.#report, columns, hasColours };
    const result = await runChatCommand(line, state);
    if (typeof result === "object" && result.isColoured) standardStreams().stderr.write(`${result.text}\n`);
    else if (typeof result === "object") writeStderr(`${result.text}\n`);
    return result;
  }

  /** Resolves with the ending; undefined if nothing was said. */
  async #say(message: string | undefined): Promise<AgentEnding | undefined> {
    const { talk, control, over, screen } = this.#parts;
    const interrupt = () => talk.interrupt();
    control.interrupts = interrupt;
    over.addEventListener("abort", interrupt);
    const since = performance.now();
    screen.begin(talk.execution);
    try {
      const report = await talk.say(message);
      screen.rest();
      this.#tell(report, performance.now() - since);
      return report.ending;
    } catch (error) {
      if (message !== undefined || !PortcullisError.is(error) || error.code !== "option_invalid") throw error;
      writeStderr("There is nothing to go on with: the model has answered.\n");
      return undefined;
    } finally {
      screen.rest();
      control.interrupts = undefined;
      over.removeEventListener("abort", interrupt);
    }
  }

  #tell(report: AgentReport<unknown>, ms: number): void {
    const { ending } = report;
    const { options, screen } = this.#parts;
    if (ending.type === "cancelled") writeStderr("Interrupted. Your next message goes on from here.\n");
    else if (ending.type !== "answered") writeStderr(`${ending.type}: ${oneLine(agentEndingText(ending))}\n`);
    const facts = answerFacts(report, this.#turnsDone, ms);
    standardStreams().stderr.write(screen.hasColours ? `${styled("gray", facts)}\n\n` : `${facts}\n`);
    if (ending.type === "waiting") {
      const hints = waitingHints(report.execution, ending, sameOr(options, undefined));
      // The last one takes it up elsewhere.
      const own = ending.approvals.length > 0 ? hints.slice(0, -1) : hints;
      writeStderr(`${own.join("\n")}\nportcullis: then /continue goes on.\n`);
    }
    this.#report = report;
    this.#turnsDone = turnsDone(report);
  }

  /** Says how the conversation is taken up again. */
  #tellHow({ execution }: AgentReport<unknown>): void {
    const { options, isKept } = this.#parts;
    if (isKept) writeStderr(`Take it up again with:\n  ${chatCommand(execution, sameOr(options, undefined))}\n`);
  }
}
