import { isDeepStrictEqual } from "node:util";
import { type Fields, nextTurn, parsedJson, PortcullisError, quickKey, sizeFault, textOf } from "../../base/index.ts";
import { allowedCalls } from "../turn/allowed-calls.ts";
import { CallIds } from "../turn/call-ids.ts";
import {
  checkedMessage,
  contentBudget,
  type MediaTypes,
  type MessageContent,
  readResultParts,
  type ResultParts,
} from "../turn/content-parts.ts";
import {
  type CallResult,
  type ModelConversation,
  type HostedNews,
  isWholeEnd,
  type ModelCall,
  type ModelTurn,
  type ModelSettings,
  type ModelUsage,
  type Opening,
  type ProviderFailureCode,
  sumOfUsage,
  type ToolCall,
  type ToolChoice,
  type ToolDeclaration,
  type TurnEnd,
  type TurnReply,
  type TurnRequest,
  type UserMessage,
} from "../model.ts";
import { failedReply, failure, type FailedProvider, shownEnd } from "./provider-failure.ts";
import type { ProviderTraits, ResolvedOptions } from "./provider-options.ts";
import { plainId, type ProviderRequests } from "./provider-requests.ts";
import { ErrorReply, noReply } from "./reply-parts.ts";
import type { ReplyStream } from "./reply-stream.ts";
import { RUN_PROGRAM, SEARCH_TOOLS } from "../../tools/tool-name.ts";
import { checkToolChoice, type SettingsPlace } from "../settings.ts";
import { citationsOf } from "../turn/hosted-calls.ts";
import { rewrittenCall, inputDifferences } from "../turn/declared-input.ts";
import { shownCallInput, sourceOf, type ToolsByName, withToolInput } from "../turn/program-input.ts";
import { type ToolNames, toolNamesOf } from "../turn/tool-names.ts";
import { TurnDisplay } from "../turn/turn-display.ts";

/** The parts of a provider's conversation. `requests` sends the SDK's requests. */
export interface ProviderParts {
  readonly model: string;
  readonly provider: ProviderTraits;
  readonly options: ResolvedOptions;
  readonly opening: Opening;
  readonly requests: ProviderRequests;
}

export interface ProviderReply {
  readonly text: string;
  readonly reasoning: string;
  readonly usage: ModelUsage;
  readonly messageId: string | undefined;
}

/** What a whole reply means, before calls decide how the turn ends. */
interface Meaning {
  readonly text?: string;
  readonly end: TurnEnd;
  readonly hosted?: readonly HostedNews[];
  readonly cited?: readonly unknown[];
  readonly unread?: readonly Fields[];
  /** Reads the calls of a whole reply. The calls of a reply that was cut off or refused cannot be trusted. */
  readonly calls: () => readonly ModelCall[];
}

/** A call of another model, by the name under which its tool is declared here. `source`: of a program. */
export interface ForeignCall {
  readonly id: string;
  readonly name: string;
  readonly inputText: string;
  readonly source?: string;
}

type FailedReply = Extract<TurnReply, { readonly type: "failed" }>;

export interface TurnAsked {
  readonly maxOutputTokens: number;
  readonly toolChoice: ToolChoice;
  readonly signal: AbortSignal;
}

interface OpenCall {
  readonly id: string;
  readonly toBlock: (result: CallResult) => Fields;
}

interface NextInput {
  readonly results: Fields[];
  readonly messages: MessageContent[];
}

/**
 * The order of a conversation, the same for all providers: input is collected and sent, and the reply is read. Every
 * failure becomes a `TurnReply`. A provider's class keeps the history in the provider's own form.
 */
export abstract class ProviderConversation<Reply extends ProviderReply, Client> implements ModelConversation {
  protected readonly opening: Opening;
  protected readonly names: ToolNames;
  /** All of its tools, deferred ones included. */
  protected readonly tools: ToolsByName;
  protected readonly options: ResolvedOptions;
  readonly #provider: ProviderTraits;
  protected readonly media: MediaTypes;
  protected readonly client: Client;
  readonly #place: SettingsPlace;
  readonly #requests: ProviderRequests;
  readonly #content = contentBudget();
  #toolChoice: ToolChoice = "auto";
  readonly #failed: FailedProvider;
  readonly #ids = new CallIds();
  /** Programs and calls of the provider that have started and not ended. */
  readonly #openHosted = new Set<unknown>();
  opaque: string | undefined;
  readonly #found = new Set<string>();
  readonly #next: NextInput = { results: [], messages: [] };
  #openCalls: OpenCall[] = [];

  constructor(parts: ProviderParts, client: Client) {
    const { model, provider, options, opening, requests } = parts;
    const { title, keyVariable, media, takes } = provider;
    this.opening = opening;
    this.tools = new Map([...opening.tools, ...(opening.deferred ?? [])].map((tool) => [tool.name, tool]));
    this.names = this.namesFor(opening);
    this.options = options;
    this.#provider = provider;
    this.media = media;
    this.client = client;
    this.#place = { model, takes };
    this.#requests = requests;
    for (const id of opening.usedIds ?? []) this.#ids.take(id);
    this.#failed = { provider: title, keyVariable, key: options.apiKey, requests };
  }

  protected get settings(): ModelSettings {
    return this.opening.settings ?? {};
  }

  protected get isStrict(): boolean {
    return this.options.strict !== false;
  }

  say(message: UserMessage): void {
    const { model } = this.#place;
    this.#next.messages.push(checkedMessage(message, { model, media: this.media, budget: this.#content }));
  }

  /** In the order of the calls: if calls have no ids, a provider matches results by order. */
  answer(results: readonly CallResult[]): void {
    const resultsById = new Map(results.map((result) => [result.callId, result]));
    for (const { id, toBlock } of this.#openCalls) {
      const result = resultsById.get(id);
      if (!result) continue;
      const { found = [] } = result;
      const first = (this.opening.deferred ?? []).filter(({ name }) => found.includes(name) && !this.#found.has(name));
      for (const { name } of first) this.#found.add(name);
      if (first.length > 0) this.declareFound(first);
      this.#next.results.push(toBlock(result));
    }
    this.#openCalls = [];
  }

  get notStrict(): readonly string[] {
    const tools = this.isStrict ? [...this.tools.values()] : [];
    return tools.filter((tool) => tool.name !== SEARCH_TOOLS && !this.holds(tool)).map(({ name }) => name);
  }

  get toldOtherwise(): readonly string[] {
    return inputDifferences([...this.tools.values()]);
  }

  get holdsMessages(): boolean {
    return this.#next.messages.length > 0;
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    this.#flushInput();
    const { toolChoice = this.settings.toolChoice ?? "auto" } = request;
    checkToolChoice(this.#place, this.opening, toolChoice);
    this.#toolChoice = toolChoice;
    this.opaque = undefined;
    this.#requests.begin(request.onRetry, request.signal, request.reader);
    let spent: ModelUsage | undefined;
    for (;;) {
      const own = (alias: string) => this.names.own(alias);
      const display = new TurnDisplay(request, { program: this.opening.runProgram?.name, own });
      const reply = await this.#attempt(request, display);
      const whole = withUsage(reply, spent);
      if (whole.type !== "failed" || display.hasShown) return whole;
      const isRepeated = await this.#isRepeated(whole, request);
      if (request.signal.aborted) return { type: "aborted" };
      if (!isRepeated) return whole;
      spent = whole.usage;
    }
  }

  async #attempt(request: TurnRequest, display: TurnDisplay): Promise<TurnReply> {
    const stream = new this.Stream(display);
    // An earlier answer no longer counts.
    this.#requests.isAnswered = false;
    try {
      const { reply, isWhole } = await this.#receive(request, stream);
      // A reply of the largest size is work for a whole turn of the event loop, each time that it is walked.
      await nextTurn();
      if (!reply) return this.fail("interrupted", "", stream.usage);
      // Checked before it is in the history: a reply too deep for the writer of JSON could never be sent again.
      const fault = sizeFault(reply, REPLY_BOUNDS);
      if (fault !== undefined) return this.fail("reply_invalid", `The reply ${fault}.`, stream.usage);
      this.#openCalls = [];
      const turn = this.#turnOf(reply);
      if (turn.type !== "turn") return turn;
      if (isWhole && !display.hasShown) this.#showWhole(reply, turn, display);
      this.opaque = JSON.stringify(this.bodyOf(reply));
      await nextTurn();
      return turn;
    } catch (error) {
      if (this.#requests.stopped) throw this.#requests.stopped.error;
      const usage = error instanceof ErrorReply ? error.usage : undefined;
      return failedReply(error, request.signal, this.#failed, usage ?? stream.usage);
    }
  }

  /**
   * Whether a reply that broke off is asked for again. The request of a reply that never began was repeated before, if
   * it could be. A request that could not be made would fail again.
   */
  async #isRepeated({ failure: { code }, usage }: FailedReply, { signal, maxTokens }: TurnRequest): Promise<boolean> {
    const isSpent = usage !== undefined && usage.inputTokens + usage.outputTokens >= maxTokens;
    if (!this.#requests.isAnswered || isSpent || !BROKEN_OFF.has(code)) return false;
    try {
      return await this.#requests.waitToRepeat("Its reply broke off before a piece of it was shown.", signal);
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  #showWhole({ reasoning, text }: Reply, { calls, hosted }: ModelTurn, display: TurnDisplay): void {
    display.reasoning(reasoning);
    display.text(text);
    for (const news of hosted) if (news.type === "hosted_program_started") display.program(news, news.source);
    for (const call of calls) {
      if (call.type === "tool_call") display.whole(call, call.tool, shownCallInput(this.tools, call));
      else if (call.source !== undefined) display.program(call, call.source);
    }
  }

  restore(turn: ModelTurn, opaque: string | undefined): void {
    this.#flushInput();
    this.#openCalls = [];
    const reply = this.readBody(opaque === undefined ? this.#bodyOfForeign(turn) : parsedJson(opaque));
    const read = reply && this.#turnOf(reply);
    if (read?.type !== "turn" || !isDeepStrictEqual(idsOf(read), idsOf(turn)))
      throw new PortcullisError(
        "journal_invalid",
        `The journal's record of a turn of ${this.#failed.provider} cannot be read. Its conversation cannot continue.`,
      );
    this.opaque = opaque;
  }

  /** The reply that another model's turn would have been; undefined if it has what this provider cannot have made. */
  #bodyOfForeign(turn: ModelTurn): Fields | undefined {
    const isPlain = turn.hosted.length === 0 && turn.calls.every(({ id }) => /^[a-zA-Z0-9_-]{1,64}$/.test(id));
    const calls = turn.calls.map((modelCall): ForeignCall => {
      const call = rewrittenCall(this.tools, modelCall, "declared");
      const { id } = call;
      if (call.type === "tool_call") return { id, name: this.names.aliasOf(call.tool), inputText: call.inputText };
      const { source = "" } = call;
      return { id, name: RUN_PROGRAM, inputText: JSON.stringify({ code: source }), source };
    });
    return isPlain ? this.bodyFor(turn.text, calls) : undefined;
  }

  /** A reply for a turn that this provider has not made, as JSON that `readBody` takes; undefined if there can be none. */
  protected bodyFor(_text: string, _calls: readonly ForeignCall[]): Fields | undefined {
    return undefined;
  }

  /** Adds input to the history: results first, then messages of the user. Either may be empty. */
  protected abstract addInput(results: readonly Fields[], messages: readonly MessageContent[]): void;
  /** Whether calls of a tool are held to its schema, if that was asked for. */
  protected abstract holds(tool: ToolDeclaration): boolean;
  /** Sends the history. What the SDK makes of the reply is not looked at. */
  protected abstract send(asked: TurnAsked): Promise<unknown>;
  protected abstract readonly Stream: new (display: TurnDisplay) => ReplyStream<Reply>;
  protected abstract readonly readBody: (body: unknown) => Reply | undefined;
  protected abstract bodyOf(reply: Reply): Fields;
  protected abstract read(reply: Reply): Meaning | FailedReply;

  protected namesFor(opening: Opening): ToolNames {
    return toolNamesOf(opening);
  }

  protected partsOf({ parts }: CallResult): ResultParts {
    return readResultParts(parts, { media: this.media, budget: this.#content });
  }

  /** A text that a model wrote for a tool, as JSON. If the tool takes fields, the text is what stands in their place. */
  protected textInput(tool: string, text: string): string {
    return this.tools.get(tool)?.textFormat === undefined ? text : JSON.stringify(text);
  }

  /** Declares deferred tools that a search has found, and no search before it. */
  protected declareFound(_found: readonly ToolDeclaration[]): void {}

  /** Registers a call under an id that is unique in the conversation, and returns the id. */
  protected openCall(providedId: string | undefined, toBlock: OpenCall["toBlock"]): string {
    const id = this.#ids.take(providedId);
    this.#openCalls.push({ id, toBlock });
    return id;
  }

  /** A call by the name under which its tool was declared. */
  protected callNamed(
    id: string,
    name: string,
    inputText: string,
    { caller = "direct", ...more }: Partial<Pick<ToolCall, "caller" | "program" | "answerBy">> = {},
  ): ModelCall {
    if (caller === "direct" && name === this.opening.runProgram?.name)
      return { type: "program_call", id, source: sourceOf(inputText) };
    return { type: "tool_call", id, tool: this.names.own(name), caller, inputText, ...more };
  }

  /** Notes what the provider runs itself. Until it has ended, providers of programs accept results only. */
  #noteHosted(news: HostedNews): void {
    const id = quickKey("program" in news ? news.program : news.call);
    if (news.type.endsWith("_started")) this.#openHosted.add(id);
    else this.#openHosted.delete(id);
  }

  #turnOf(reply: Reply): ModelTurn | FailedReply {
    const read = this.read(reply);
    if ("type" in read) return read;
    const { text = reply.text, end, hosted = [], cited = [], unread = [], calls: readCalls } = read;
    const citations = citationsOf(cited);
    const kinds = new Set(unread.map((part) => plainId(textOf(part, "type")) ?? "without a name"));
    const unreadParts = [...kinds].slice(0, MAX_KINDS);
    const asOwn = (call: ModelCall) => rewrittenCall(this.tools, withToolInput(this.tools, call), "own");
    const modelCalls = isWholeEnd(end) ? readCalls().map(asOwn) : [];
    const calls = allowedCalls(modelCalls, this.#toolChoice, this.settings);
    if (this.#provider.hostsPrograms) for (const news of hosted) this.#noteHosted(news);
    // Taken for an answer, it would keep what the user says next from being sent.
    const isBroken = end.type === "answered" && calls.length === 0 && this.#openHosted.size > 0;
    const last = isBroken ? UNENDED : end;
    return {
      type: "turn",
      text,
      calls,
      hosted: [...hosted],
      citations: citations.length === 0 ? undefined : citations,
      unreadParts: unreadParts.length === 0 ? undefined : unreadParts,
      end: calls.length > 0 ? { type: "called" } : shownEnd(last, this.#failed),
      usage: reply.usage,
      origin: { message: plainId(reply.messageId), request: this.#requests.requestId },
    };
  }

  protected fail(code: ProviderFailureCode, detail: string, usage?: ModelUsage): FailedReply {
    return { type: "failed", failure: failure(code, this.#failed, detail), usage };
  }

  #flushInput(): void {
    const isOpen = this.#openHosted.size > 0;
    this.addInput(this.#next.results.splice(0), isOpen ? [] : this.#next.messages.splice(0));
  }

  async #receive({ signal, maxTokens }: TurnRequest, stream: ReplyStream<Reply>) {
    const most = this.settings.maxOutputTokens ?? this.options.maxOutputTokens;
    // The rest of a budget may be less than the provider accepts.
    const maxOutputTokens = Math.max(this.#place.takes.minOutputTokens, Math.min(most, maxTokens));
    await this.send({ maxOutputTokens, toolChoice: this.#toolChoice, signal });
    const isOfEvents = stream.reply !== undefined;
    const events: unknown[] = [];
    for await (const part of this.#requests.parts()) {
      if ("event" in part) {
        if (events.length < 2) events.push(part.event);
        stream.take(part.event);
        continue;
      }
      const reply = this.readBody(part.whole);
      if (!reply) throw noReply(this.#requests.reply, part.whole);
      return { reply, isWhole: true };
    }
    // Some servers send a whole reply as an event, the only one. Others send the message so far beside each piece of it.
    const whole = isOfEvents || events.length !== 1 ? undefined : this.readBody(events[0]);
    return { reply: whole ?? stream.reply, isWhole: whole !== undefined };
  }
}

const UNENDED: TurnEnd = { type: "cut_off", reason: "a call of the provider's own has no result" };

/** Bounds of a reply, which is read by recursion and kept. A stream is bounded on arrival by each of its events alone. */
const REPLY_BOUNDS = { depth: 1000, values: 1_000_000, characters: 4 * 1024 * 1024 };

/** Failures of a reply that broke off, after which the same request may succeed. */
const BROKEN_OFF: ReadonlySet<ProviderFailureCode> = new Set([
  "interrupted",
  "overloaded",
  "rate_limited",
  "server_failed",
]);

function withUsage(reply: TurnReply, spent: ModelUsage | undefined): TurnReply {
  if (reply.type === "aborted" || !spent) return reply;
  return { ...reply, usage: reply.usage ? sumOfUsage([reply.usage, spent]) : spent };
}

const MAX_KINDS = 20;

function idsOf({ calls }: ModelTurn): readonly string[] {
  return calls.map(({ id }) => id);
}
