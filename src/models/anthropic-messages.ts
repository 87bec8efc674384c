import { AnthropicStream, type AnthropicReply, readMessage } from "./anthropic-reply.ts";
import { namesOf, toolsFor } from "./anthropic-request.ts";
import { CallIds, UniqueIds } from "./call-ids.ts";
import { fieldOf, type Fields, textOf } from "./fields.ts";
import type {
  CallResult,
  Conversation,
  HostedProgramNews,
  Model,
  ModelCall,
  ModelUsage,
  Opening,
  TurnEnd,
  TurnReply,
  TurnRequest,
} from "./model.ts";
import { sourceOf } from "./program-input.ts";
import { failedReply, failure, type FailedProvider, shownEnd } from "./provider-failure.ts";
import { loadSdk, type ProviderOptions, type ResolvedOptions, resolveOptions } from "./provider-options.ts";
import { NO_TIMEOUT_MS, ProviderRequests } from "./provider-requests.ts";
import { labelledText } from "./result-text.ts";
import type { ToolNames } from "./tool-names.ts";

const KEY_VARIABLE = "ANTHROPIC_API_KEY";
/** How long the provider lets a program wait for answers, where its reply does not say, in milliseconds. */
const ANSWER_MS = 240_000;
/** What an answer takes to get there, in milliseconds. */
const MARGIN_MS = 5000;

type Client = InstanceType<(typeof import("@anthropic-ai/sdk"))["default"]>;
type Params = Parameters<Client["messages"]["create"]>[0];

/** Models of Anthropic's Messages API, and of whatever speaks it. Their programs may run here, or hosted by Anthropic. */
export function anthropic(options: ProviderOptions): Model {
  const resolved = resolveOptions("anthropic", KEY_VARIABLE, options);
  return {
    name: `anthropic:${resolved.model}`,
    hostsPrograms: true,
    async converse(opening) {
      const names = namesOf(opening);
      const tools = toolsFor(opening, names);
      const { default: Anthropic } = await loadSdk("@anthropic-ai/sdk", () => import("@anthropic-ai/sdk"));
      const requests = new ProviderRequests(resolved);
      const client = new Anthropic({
        apiKey: resolved.apiKey,
        // What the environment has for other services is not for this conversation.
        authToken: null,
        baseURL: resolved.baseUrl?.replace(/\/+(v1\/*)?$/, "") ?? "https://api.anthropic.com",
        maxRetries: 0,
        timeout: NO_TIMEOUT_MS,
        fetch: requests.fetch,
        logLevel: "off",
      });
      return new AnthropicConversation(client, resolved, requests, opening, names, tools);
    },
  };
}

/** One call of the last turn, with what its answer has to carry. */
interface OpenCall {
  readonly id: string;
  readonly toolUseId: string;
  readonly fromProgram: boolean;
}

class AnthropicConversation implements Conversation {
  readonly #client: Client;
  readonly #options: ResolvedOptions;
  readonly #opening: Opening;
  readonly #names: ToolNames;
  readonly #tools: readonly Fields[];
  readonly #about: FailedProvider;
  readonly #messages: { readonly role: "user" | "assistant"; readonly content: readonly Fields[] }[] = [];
  readonly #ids = new CallIds();
  readonly #toolUseIds = new UniqueIds();
  /** Programs of the provider that have begun and not ended. */
  readonly #openPrograms = new Set<string>();
  #said: string[] = [];
  #results: Fields[] = [];
  #open: readonly OpenCall[] = [];
  #container: string | undefined;

  constructor(
    client: Client,
    options: ResolvedOptions,
    requests: ProviderRequests,
    opening: Opening,
    names: ToolNames,
    tools: readonly Fields[],
  ) {
    this.#client = client;
    this.#options = options;
    this.#opening = opening;
    this.#names = names;
    this.#tools = tools;
    this.#about = { provider: "Anthropic", keyVariable: KEY_VARIABLE, key: options.apiKey, requests };
  }

  say(text: string): void {
    this.#said.push(text);
  }

  answer(results: readonly CallResult[]): void {
    const given = new Map(results.map((result) => [result.callId, result]));
    this.#results = this.#open.flatMap(({ id, toolUseId, fromProgram }) => {
      const result = given.get(id);
      return result ? [resultBlock(toolUseId, fromProgram, result)] : [];
    });
    this.#open = [];
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    this.#addUserMessage();
    const stream = new AnthropicStream(request.onText);
    try {
      const reply = await this.#send(request, stream);
      return reply
        ? this.#read(reply)
        : this.#failed(this.#options.stream ? "interrupted" : "reply_invalid", "", stream.usage);
    } catch (error) {
      return failedReply(error, request.signal, this.#about, stream.usage);
    }
  }

  /** Results come first, alone in a message of their own while a program waits for them; whatever else there is to say waits too. */
  #addUserMessage(): void {
    const isPaused = this.#openPrograms.size > 0;
    const texts = isPaused ? [] : this.#said.map((text) => ({ type: "text", text }));
    if (!isPaused) this.#said = [];
    const content = [...this.#results, ...texts];
    this.#results = [];
    if (content.length > 0) this.#messages.push({ role: "user", content });
  }

  async #send(
    { signal, mostTokens, onText }: TurnRequest,
    stream: AnthropicStream,
  ): Promise<AnthropicReply | undefined> {
    const { model, maxOutputTokens } = this.#options;
    const params = {
      model,
      max_tokens: Math.max(1, Math.min(maxOutputTokens, mostTokens)),
      system: this.#opening.instructions,
      messages: this.#messages,
      ...(this.#tools.length > 0 ? { tools: this.#tools } : {}),
      ...(this.#container === undefined ? {} : { container: this.#container }),
    };
    if (!this.#options.stream) {
      const message = await this.#client.messages.create({ ...params, stream: false } as unknown as Params, {
        signal,
      });
      const reply = readMessage(message);
      onText(reply ? wordsOf(reply.content) : "");
      return reply;
    }
    const events = await this.#client.messages.create({ ...params, stream: true } as unknown as Params, {
      signal,
    });
    for await (const event of events as AsyncIterable<unknown>) stream.take(event);
    return stream.reply;
  }

  /** Takes a whole reply into the history, and out of it what is to be done. */
  #read(reply: AnthropicReply): TurnReply {
    const end = endOf(reply);
    if (!end) return this.#failed("interrupted", "It has no stop reason.", reply.usage);
    this.#container = reply.container?.id ?? this.#container;
    const content = reply.content.map((block) => this.#withOwnId(block));
    const kept = content.filter((block) => !(block.type === "text" && block.text === ""));
    if (kept.length > 0) this.#messages.push({ role: "assistant", content: kept });
    const hosted = content.flatMap((block) => this.#newsOf(block));
    const answerBy = answerTime(reply.container?.expiresAt);
    const calls = end.type === "cut_off" || end.type === "refused" ? [] : this.#callsOf(content, reply, answerBy);
    const { usage } = reply;
    const text = wordsOf(content);
    if (end.type === "called" && calls.length === 0)
      return this.#failed("reply_invalid", "It calls, and names no tool.", reply.usage);
    const whole = calls.length > 0 ? ({ type: "called" } as const) : shownEnd(end, this.#about);
    return { type: "turn", text, calls, hosted, end: whole, usage };
  }

  /** The provider takes no history in which two calls have one id: where a server repeats one, the later gets another. */
  #withOwnId(block: Fields): Fields {
    if (block.type !== "tool_use") return block;
    const own = this.#toolUseIds.take(textOf(block, "id") || "toolu");
    return own === block.id ? block : { ...block, id: own };
  }

  #callsOf(content: readonly Fields[], reply: AnthropicReply, answerBy: number): ModelCall[] {
    const open: OpenCall[] = [];
    const calls = content.flatMap((block, place): ModelCall[] => {
      if (block.type !== "tool_use") return [];
      const toolUseId = textOf(block, "id") ?? "";
      const id = this.#ids.take(toolUseId);
      const inputText = reply.inputTexts.get(place) ?? JSON.stringify(fieldOf(block, "input") ?? {});
      const caller = callerOf(fieldOf(block, "caller"));
      open.push({ id, toolUseId, fromProgram: caller !== "direct" });
      const name = textOf(block, "name") ?? "";
      if (name === this.#opening.runProgram?.name && caller === "direct")
        return [{ type: "program_call", id, source: sourceOf(inputText) }];
      const program = textOf(fieldOf(block, "caller"), "tool_id");
      const fromProgram = caller === "direct" ? {} : { answerBy, ...(program === undefined ? {} : { program }) };
      return [{ type: "tool_call", id, tool: this.#names.own(name), caller, inputText, ...fromProgram }];
    });
    this.#open = open;
    return calls;
  }

  #newsOf(block: Fields): HostedProgramNews[] {
    if (block.type === "server_tool_use" && block.name === "code_execution") {
      const program = textOf(block, "id") ?? "";
      this.#openPrograms.add(program);
      return [{ type: "hosted_program_started", program, source: textOf(block.input, "code") ?? "" }];
    }
    if (block.type !== "code_execution_tool_result") return [];
    const program = textOf(block, "tool_use_id") ?? "";
    this.#openPrograms.delete(program);
    return [{ type: "hosted_program_ended", program, ...outputOf(block.content) }];
  }

  #failed(code: "interrupted" | "reply_invalid", detail: string, usage: ModelUsage): TurnReply {
    return { type: "failed", failure: failure(code, this.#about, detail), usage };
  }
}

function resultBlock(toolUseId: string, fromProgram: boolean, result: CallResult): Fields {
  const bare = result.isError ? `Error: ${result.text}` : result.text;
  return {
    type: "tool_result",
    tool_use_id: toolUseId,
    content: fromProgram ? bare : labelledText(result),
    ...(result.isError ? { is_error: true } : {}),
  };
}

function endOf({ stopReason, stopDetails }: AnthropicReply): TurnEnd | undefined {
  switch (stopReason) {
    case undefined:
      return undefined;
    case "end_turn":
    case "stop_sequence":
      return { type: "answered" };
    case "tool_use":
      return { type: "called" };
    case "pause_turn":
    case "compaction":
      return { type: "unfinished" };
    case "refusal":
      return { type: "refused", reason: textOf(stopDetails, "explanation") ?? "Anthropic's model gives no reason." };
    default:
      // One that is not known yet is no reason to trust what came before it.
      return { type: "cut_off", reason: stopReason.slice(0, 100) };
  }
}

function callerOf(caller: unknown): "direct" | "programmatic" | "unknown" {
  if (caller === undefined || caller === null) return "direct";
  const type = textOf(caller, "type");
  if (type === "direct") return "direct";
  return type?.startsWith("code_execution_") ? "programmatic" : "unknown";
}

/** When an answer must be under way. A time that has passed already says that clocks differ, not that nobody waits. */
function answerTime(expiresAt: string | undefined): number {
  const now = Date.now();
  const expiry = Date.parse(expiresAt ?? "");
  const until = expiry > now ? Math.min(expiry, now + ANSWER_MS) : now + ANSWER_MS;
  return until - MARGIN_MS;
}

function outputOf(content: unknown): { readonly output: string | undefined; readonly isError: boolean } {
  switch (textOf(content, "type")) {
    case "code_execution_result": {
      const printed = [textOf(content, "stdout"), textOf(content, "stderr")].filter((part) => part);
      return { output: printed.join("\n"), isError: fieldOf(content, "return_code") !== 0 };
    }
    case "encrypted_code_execution_result":
      return { output: undefined, isError: fieldOf(content, "return_code") !== 0 };
    default:
      return { output: textOf(content, "error_code"), isError: true };
  }
}

function wordsOf(content: readonly Fields[]): string {
  return content.map((block) => (block.type === "text" ? (textOf(block, "text") ?? "") : "")).join("");
}
