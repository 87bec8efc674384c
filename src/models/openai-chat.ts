import { CallIds } from "./call-ids.ts";
import { fieldOf, type Fields, isFields, listOf, textOf, without } from "./fields.ts";
import type {
  CallResult,
  Conversation,
  Model,
  ModelCall,
  Opening,
  ProgramDeclaration,
  ToolDeclaration,
  TurnEnd,
  TurnReply,
  TurnRequest,
} from "./model.ts";
import { type ChatReply, ChatStream, readCompletion, WHOLE_REASONS } from "./openai-chat-reply.ts";
import { OPENAI_KEY, openAiClient, type OpenAiClient } from "./openai-client.ts";
import { PROGRAM_SCHEMA, sourceOf } from "./program-input.ts";
import { failedReply, failure, type FailedProvider, shownEnd } from "./provider-failure.ts";
import { type ProviderOptions, type ResolvedOptions, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";
import { labelledText } from "./result-text.ts";
import { ToolNames } from "./tool-names.ts";

type Params = Parameters<OpenAiClient["chat"]["completions"]["create"]>[0];

/** Models of OpenAI's Chat Completions, and of whatever speaks it: local servers too, by `baseUrl`. Their programs run here. */
export function openaiChat(options: ProviderOptions): Model {
  const resolved = resolveOptions("openaiChat", OPENAI_KEY, options);
  return {
    name: `openai-chat:${resolved.model}`,
    hostsPrograms: false,
    async converse(opening) {
      const requests = new ProviderRequests(resolved);
      return new ChatConversation(await openAiClient(resolved, requests), resolved, requests, opening);
    },
  };
}

/** Fields of a message that a server gives and does not take. */
const ONLY_GIVEN = ["refusal", "annotations", "audio", "function_call"];

class ChatConversation implements Conversation {
  readonly #client: OpenAiClient;
  readonly #options: ResolvedOptions;
  readonly #runProgram: ProgramDeclaration | undefined;
  readonly #names: ToolNames;
  readonly #tools: readonly Fields[];
  readonly #about: FailedProvider;
  readonly #ids = new CallIds();
  readonly #messages: Fields[];
  #said: string[] = [];
  #open: readonly { readonly id: string; readonly toolCallId: string }[] = [];

  constructor(
    client: OpenAiClient,
    options: ResolvedOptions,
    requests: ProviderRequests,
    { instructions, tools, runProgram }: Opening,
  ) {
    this.#client = client;
    this.#options = options;
    this.#runProgram = runProgram;
    this.#names = new ToolNames(
      tools.map(({ name }) => name),
      runProgram ? [runProgram.name] : [],
    );
    this.#tools = [
      ...(runProgram ? [declareFunction({ ...runProgram, input: PROGRAM_SCHEMA }, runProgram.name)] : []),
      ...tools.map((tool) => declareFunction(tool, this.#names.given(tool.name))),
    ];
    this.#messages = [{ role: "system", content: instructions }];
    this.#about = { provider: "OpenAI", keyVariable: OPENAI_KEY, key: options.apiKey, requests };
  }

  say(text: string): void {
    this.#said.push(text);
  }

  answer(results: readonly CallResult[]): void {
    const given = new Map(results.map((result) => [result.callId, result]));
    for (const { id, toolCallId } of this.#open) {
      const result = given.get(id);
      if (result) this.#messages.push({ role: "tool", tool_call_id: toolCallId, content: labelledText(result) });
    }
    this.#open = [];
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    for (const content of this.#said) this.#messages.push({ role: "user", content });
    this.#said = [];
    try {
      const reply = await this.#send(request);
      if (reply) return this.#read(reply);
      const code = this.#options.stream ? "interrupted" : "reply_invalid";
      return { type: "failed", failure: failure(code, this.#about, "") };
    } catch (error) {
      return failedReply(error, request.signal, this.#about);
    }
  }

  async #send({ signal, mostTokens, onText }: TurnRequest): Promise<ChatReply | undefined> {
    const { model, baseUrl, maxOutputTokens, stream } = this.#options;
    const most = Math.max(1, Math.min(maxOutputTokens, mostTokens));
    const params = {
      model,
      messages: this.#messages,
      ...(this.#tools.length > 0 ? { tools: this.#tools } : {}),
      // Other servers know the older name, which OpenAI's newer models refuse.
      ...(baseUrl === undefined ? { max_completion_tokens: most } : { max_tokens: most }),
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    } as unknown as Params;
    const given: unknown = await this.#client.chat.completions.create(params, { signal });
    if (!stream) {
      const reply = readCompletion(given);
      onText(wordsOf(reply?.message));
      return reply;
    }
    const chunks = new ChatStream(onText);
    for await (const chunk of given as AsyncIterable<unknown>) chunks.take(chunk);
    return chunks.reply;
  }

  /** Takes a whole reply into the history, and out of it what is to be done. Servers say `stop` of replies that call, too. */
  #read({ message, finishReason, usage }: ChatReply): TurnReply {
    const end = endOf(message, finishReason);
    if (!end) return { type: "failed", failure: failure("interrupted", this.#about, "It has no finish reason.") };
    const toolCalls = listOf(message, "tool_calls")
      .filter(isFields)
      .map((call) => this.#withId(call));
    const echo = without(message, ...ONLY_GIVEN, "tool_calls");
    this.#messages.push({
      ...echo,
      role: "assistant",
      content: fieldOf(message, "content") ?? null,
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
    });
    const calls = end.type === "answered" ? this.#callsOf(toolCalls) : [];
    const whole = calls.length > 0 ? ({ type: "called" } as const) : shownEnd(end, this.#about);
    return { type: "turn", text: wordsOf(message), calls, hosted: [], end: whole, usage };
  }

  /** A call without an id could not be answered. */
  #withId(call: Fields): Fields {
    return textOf(call, "id") ? call : { ...call, id: `call_${this.#messages.length}_${this.#ids.take(undefined)}` };
  }

  #callsOf(toolCalls: readonly Fields[]): ModelCall[] {
    const open: { readonly id: string; readonly toolCallId: string }[] = [];
    const calls = toolCalls.map((call): ModelCall => {
      const toolCallId = textOf(call, "id") ?? "";
      const id = this.#ids.take(toolCallId);
      open.push({ id, toolCallId });
      const called = fieldOf(call, "function");
      const name = textOf(called, "name") ?? "";
      const inputText = textOf(called, "arguments") ?? "";
      if (name === this.#runProgram?.name) return { type: "program_call", id, source: sourceOf(inputText) };
      // No arguments at all is how some servers write the empty ones.
      return { type: "tool_call", id, tool: this.#names.own(name), caller: "direct", inputText: inputText || "{}" };
    });
    this.#open = open;
    return calls;
  }
}

function declareFunction({ description, input }: Pick<ToolDeclaration, "description" | "input">, name: string): Fields {
  return { type: "function", function: { name, description, parameters: input } };
}

/** Some servers say in parts what others say in one text. */
function wordsOf(message: unknown): string {
  const parts = listOf(message, "content").filter((part) => textOf(part, "type") === "text");
  return textOf(message, "content") ?? parts.map((part) => textOf(part, "text") ?? "").join("");
}

function endOf(message: Fields, finishReason: string | undefined): TurnEnd | undefined {
  if (finishReason === undefined) return undefined;
  if (finishReason === "content_filter") return { type: "refused", reason: "The provider's filter stopped the reply." };
  if (!WHOLE_REASONS.has(finishReason)) return { type: "cut_off", reason: finishReason };
  const refusal = textOf(message, "refusal");
  return refusal === undefined || refusal === "" ? { type: "answered" } : { type: "refused", reason: refusal };
}
