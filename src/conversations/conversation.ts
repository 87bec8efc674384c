/*
 * What `runtime.conversation` gives to a developer: a `Conversation`. Messages of the user come in; answers of the model go out, or
 * single turns (`Step`) whose calls the developer answers. Each step is driven by `drive/drive-conversation.ts`.
 */
import {
  checkValue,
  fieldOf,
  type ExecutionId,
  jsonOrText,
  jsonTextOf,
  optionError,
  PortcullisError,
  required,
  ignore,
} from "../base/index.ts";
import { findIfKnown } from "../journal/find-if-known.ts";
import { beginConversation, changeTools } from "./agent.ts";
import { type HELD_RULES, KEPT_OPTIONS, type ResolvedAgentOptions, requestOf, RUN_RULES } from "./agent-options.ts";
import { type CopiedTurns, copyConversation, copyTranscript, takeOver } from "./drive/copy-conversation.ts";
import type { ModelTurn, ToolCall } from "../models/model.ts";
import type { ClientResult } from "../executions/decide.ts";
import type { AgentReport } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { refusal, resultOfAnswer, toolOf } from "./calls/call-result.ts";
import { cancelPrograms } from "./from-journal/past-conversation.ts";
import { driveConversation, driveTurn } from "./drive/drive-conversation.ts";
import { interruptedError } from "./drive/interruption.ts";
import { endingOfBadTurn } from "./drive/ask-model.ts";
import { refuseSilence, sendOrGoOn } from "./drive/send-once.ts";
import type { AgentEnding } from "./event.ts";
import type { LiveConversation } from "./drive/live-conversation.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";
import { messagesByUser, messagesOf, type UserMessages } from "./prompt/said-message.ts";
import type { Tool } from "../tools/tool.ts";
import { type ToolSet, TOOLS } from "../tools/tool-set.ts";

/** One turn of the model, of which nothing was done yet. */
export interface Step {
  readonly text: string;
  readonly calls: readonly StepCall[];
  /** Why there is no turn to go on from, or that the turn was an answer; missing if the model waits for its calls. */
  readonly ending?: AgentEnding;
}

export interface StepCall {
  readonly callId: string;
  /** `run_program` for a program, whose input is `{ source }`. */
  readonly tool: string;
  /** Text if the model wrote no JSON. */
  readonly input: unknown;
}

export interface ConversationParts {
  readonly live: LiveConversation;
  /** The ending with which the conversation rests, if it was taken up. */
  readonly ending?: AgentEnding | undefined;
  /** Counts work as the runtime's, which waits for it when it closes. */
  readonly untilEnded: <Value>(work: Promise<Value>) => Promise<Value>;
  /** Runs work when the runtime has a place for it, or once the signal is aborted. */
  readonly inPlace: <Value>(signal: AbortSignal, work: () => Promise<Value>) => Promise<Value>;
  /** Tools, by themselves or by their names in the runtime. */
  readonly selectTools: (tools: readonly (Tool | string)[]) => ToolSet;
  readonly onDisposed: () => Promise<void>;
}

export interface ConversationOpening {
  /** As the developer wrote them, without defaults. */
  readonly options: object;
  readonly read: ResolvedAgentOptions<typeof HELD_RULES>;
}

export async function openConversation<Context, Answer>(
  scope: AgentScope,
  options: ConversationOpening,
  parts: Omit<ConversationParts, "live" | "ending">,
): Promise<Conversation<Context, Answer>> {
  const opened = await parts.untilEnded(opening(scope, options)).catch(async (error: unknown) => {
    await parts.onDisposed();
    throw error;
  });
  return new Conversation<Context, Answer>({ ...parts, ...opened });
}

async function opening(scope: AgentScope, { options, read }: ConversationOpening): Promise<CopiedTurns> {
  const { id: execution, allowChangedTools, from } = read;
  const request = requestOf(read, scope.gate.tools, "conversation");
  const chosen = [
    ...KEPT_OPTIONS.filter((name) => fieldOf(options, name) !== undefined),
    ...["settings", "loop"].flatMap((group) =>
      Object.entries(fieldOf(options, group) ?? {})
        .filter(([name, value]) => value !== undefined && !Object.hasOwn(RUN_RULES, name))
        .map(([name]) => `${group}: { ${name} }`),
    ),
  ];
  const work = { request, execution, chosen, allowChangedTools, asks: read.approve !== undefined };
  if (typeof from === "string") return copyConversation(scope, from, work);
  if (from !== undefined) return copyTranscript(scope, from, work);
  const summary = execution === undefined ? undefined : await findIfKnown(scope.journal, execution);
  if (execution !== undefined && summary?.tenant === scope.tenant) return takeOver(scope, execution, work);
  return { live: await beginConversation(scope, request, { task: "", execution, rests: true }) };
}

/**
 * A conversation that its developer holds, made by `runtime.conversation`: many messages of the user, turn by turn if
 * wanted. One thing at a time is under way. Dispose of it with `await using`: that ends it in the journal, from which
 * it can be continued.
 */
export class Conversation<Context = unknown, Answer = string> implements AsyncDisposable {
  readonly #parts: ConversationParts;
  readonly #live: LiveConversation;
  #underWay: Promise<unknown> | undefined;
  #interrupt = new AbortController();
  #ending: AgentEnding | undefined;
  #disposed: Promise<void> | undefined;
  readonly #gone = Promise.withResolvers<void>();

  /** @internal */
  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#live = parts.live;
    this.#ending = parts.ending;
    const { signal } = this.#scope;
    // The runtime that closes waits until the journal says that the conversation has ended.
    void parts.untilEnded(this.#gone.promise);
    const onAbort = () => void this[Symbol.asyncDispose]();
    void this.#gone.promise.then(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }

  /** Id of the conversation in the journal. */
  get id(): ExecutionId {
    return this.#live.execution;
  }

  get #scope(): AgentScope {
    return this.#live.scope;
  }

  /**
   * Sends a message to the model, and drives the conversation to an ending: resolves with the report of the conversation
   * so far. Without a message it goes on from where it is: with the calls that wait, or that `step` has left open. With
   * a message, open calls are given up first. Rejects with `conversation_busy`, `conversation_ended`, `option_invalid`,
   * and as `runtime.agent` does.
   */
  async send(message?: UserMessages): Promise<AgentReport<Answer>> {
    const messages = message === undefined ? undefined : messagesOf(message, "send(message)");
    return this.#drive("send", async (interrupt) => {
      await sendOrGoOn(this.#live, messages);
      this.#ending = undefined;
      const report = await driveConversation<Answer>(this.#live, { interrupt, keeps: true });
      this.#ending = report.ending;
      return report;
    });
  }

  /**
   * Asks for one turn of the model, and makes none of its calls: answer its calls by `answer`, or let `send()` make
   * them. Rejects with `call_open` while calls of the last turn have no answer, and as `send` does.
   */
  async step(message?: UserMessages): Promise<Step> {
    const messages = message === undefined ? undefined : messagesOf(message, "step(message)");
    return this.#drive("step", async (interrupt) => {
      await this.#live.closeAnswered();
      if (messages) await this.#live.say(messagesByUser(messages));
      else await refuseSilence(this.#live, "step(message)");
      this.#ending = undefined;
      const step = stepOf(await driveTurn(this.#live, interrupt), await this.#live.holdsMessages());
      this.#ending = step.ending;
      if (step.ending) await this.#live.rest(step.ending);
      return step;
    });
  }

  /**
   * Answers an open call in place of its tool: nothing of it runs. Rejects with `call_unknown` for a call that is not
   * open, `option_invalid` for a value that is no answer, and as `send` does.
   */
  async answer(callId: string, answer: ClientResult): Promise<void> {
    return this.#run("answer", () => answerByHand(this.#live, callId, answer));
  }

  /** Ends what is under way: its `send` resolves with the ending `cancelled`, and the next `send` goes on. Otherwise does nothing. */
  interrupt(): void {
    this.#interrupt.abort(interruptedError());
  }

  /**
   * Gives the conversation other tools from the next turn on: tools, or names of the runtime's. Rejects with `call_open`
   * while calls of the last turn have no answer, `option_invalid`, `tools_conflict`, and as `send` does.
   */
  async setTools(tools: readonly (Tool<Context> | string)[]): Promise<void> {
    checkValue("setTools(tools)", tools, required(TOOLS));
    return this.#run("setTools", async () => {
      await this.#live.closeAnswered();
      await changeTools(this.#live, this.#parts.selectTools(tools as readonly (Tool | string)[]));
    });
  }

  /**
   * Interrupts what is under way, and gives the conversation up without ending it in the journal:
   * `runtime.conversation({ id })` takes it up. In place of disposing of it, which then does nothing.
   */
  leave(): Promise<void> {
    return (this.#disposed ??= this.#end(false));
  }

  /** Interrupts what is under way, and ends the conversation in the journal. A conversation whose calls wait is left open there. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#disposed ??= this.#end(true));
  }

  async #end(hasOutcome: boolean): Promise<void> {
    try {
      this.interrupt();
      await this.#underWay?.catch(ignore);
      const { scope, log, execution } = this.#live;
      if (!hasOutcome || this.#live.openCalls.length > 0) return await log.end(false);
      // What waits is no ending: once its calls are answered by hand, it can end only as given up.
      const ending = this.#ending && this.#ending.type !== "waiting" ? this.#ending : ({ type: "cancelled" } as const);
      try {
        await this.#live.endWith(ending);
      } catch {
        // Another driver has the conversation now, or the journal fails: the journal leaves it open either way.
        return await log.end(false);
      }
      scope.onEvent({ type: "conversation_ended", execution, ending });
    } finally {
      this.#gone.resolve();
      await this.#parts.onDisposed();
    }
  }

  /** Runs work that asks the model, when the runtime has a place for it. After the work the conversation has no place. */
  #drive<Value>(what: string, work: (interrupt: AbortSignal) => Promise<Value>): Promise<Value> {
    return this.#run(what, (interrupt) =>
      this.#parts.inPlace(AbortSignal.any([interrupt, this.#scope.signal]), () => work(interrupt)),
    );
  }

  async #run<Value>(what: string, work: (interrupt: AbortSignal) => Promise<Value>): Promise<Value> {
    if (this.#disposed)
      throw new PortcullisError(
        "conversation_ended",
        `${what}: the conversation ${JSON.stringify(this.id)} was disposed of, or left. Take it up by runtime.conversation({ id }), or begin another one with its turns by runtime.conversation({ from }).`,
      );
    if (this.#underWay)
      throw new PortcullisError(
        "conversation_busy",
        `${what}: something of this conversation is under way. Wait for it, or interrupt it first.`,
      );
    this.#interrupt = new AbortController();
    const working = this.#parts.untilEnded(work(this.#interrupt.signal));
    this.#underWay = working;
    try {
      return await working;
    } finally {
      this.#underWay = undefined;
    }
  }
}

/** A turn that answers before the model has read all messages ends nothing: the next step sends the other messages. */
function stepOf(turn: ModelTurn | AgentEnding, holdsMessages: boolean): Step {
  if (!("text" in turn)) return { text: "", calls: [], ending: turn };
  const { text, calls, end } = turn;
  const called = calls.map((call) =>
    call.type === "tool_call"
      ? { callId: call.id, tool: call.tool, input: jsonOrText(call.inputText) }
      : { callId: call.id, tool: RUN_PROGRAM, input: { source: call.source } },
  );
  const isAnswer = end.type === "answered" && !holdsMessages;
  return { text, calls: called, ending: isAnswer ? { type: "answered", answer: text } : endingOfBadTurn(end) };
}

/** Answers a call in place of its tool. Throws `call_unknown` if the call is not open, and `option_invalid` for a wrong answer. */
async function answerByHand(live: LiveConversation, callId: string, answer: ClientResult): Promise<void> {
  const { scope } = live;
  const call = live.openCalls.find(({ id }) => id === callId);
  if (!call)
    throw new PortcullisError(
      "call_unknown",
      `There is no open call ${JSON.stringify(callId)}. Take a \`callId\` of the last step() that has no answer yet.`,
    );
  const text = textOf(answer);
  // A program that the call has begun ends with it.
  const past = await live.read();
  const begun = past.open.get(callId);
  if (begun?.program) await cancelPrograms(scope, { ...past, open: new Map([[callId, begun]]) });
  if (text.error !== undefined) return live.takeResult(refusal(call, text.error));
  const share = scope.gate.held.share(scope.tenant, 0);
  try {
    const value = { ok: true, text: text.value, bytes: Buffer.byteLength(text.value) } as const;
    // The result of a program is shown like the result of a call.
    const toolCall: ToolCall =
      call.type === "tool_call"
        ? call
        : { type: "tool_call", id: call.id, tool: toolOf(call), caller: "direct", inputText: "" };
    live.takeResult(await resultOfAnswer(toolCall, value, live.resultWays(share.lane)));
    await live.recorded;
  } finally {
    share.end();
  }
}

function textOf(answer: unknown): { readonly value: string; readonly error?: undefined } | { readonly error: string } {
  const { value, error, ...others } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  const isOne = (value === undefined) !== (error === undefined) && Object.keys(others).length === 0;
  const text = isOne && value !== undefined ? jsonTextOf(value) : undefined;
  if (isOne && typeof error === "string" && error.trim() !== "") return { error };
  if (text === undefined) throw optionError("answer(callId, answer)", "{ value }, which is JSON, or { error }", answer);
  return { value: text };
}
