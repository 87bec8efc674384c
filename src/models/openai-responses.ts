import { CallIds } from "./call-ids.ts";
import { fieldOf, type Fields, isFields, listOf, textOf, without } from "./fields.ts";
import type {
  CallResult,
  Conversation,
  HostedProgramNews,
  Model,
  ModelCall,
  Opening,
  ToolDeclaration,
  TurnEnd,
  TurnReply,
  TurnRequest,
} from "./model.ts";
import { flag, type OptionsOf, type Resolved, withDefault } from "../options/options.ts";
import { OPENAI_KEY, openAiClient, type OpenAiClient } from "./openai-client.ts";
import { readResponse, type ResponsesReply, ResponsesStream } from "./openai-responses-reply.ts";
import { failedReply, failure, type FailedProvider } from "./provider-failure.ts";
import { type ProviderOptions, type ResolvedOptions, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";
import { labelledText } from "./result-text.ts";
import { strictSchema, withoutNulls } from "./strict-schema.ts";
import { ToolNames } from "./tool-names.ts";

const OPENAI_RULES = {
  /** Whether functions are strict, where their schemas can be; false by default. */
  strict: withDefault(flag(), false),
  /** Whether OpenAI keeps the conversation, so that only what is new is sent; false by default. */
  store: withDefault(flag(), false),
};

export type OpenAiOptions = ProviderOptions & OptionsOf<typeof OPENAI_RULES>;

type Params = Parameters<OpenAiClient["responses"]["create"]>[0];

/** Models of OpenAI's Responses API. Their programs may run here, or hosted by OpenAI. */
export function openai(options: OpenAiOptions): Model {
  const resolved = resolveOptions("openai", OPENAI_KEY, options, OPENAI_RULES);
  return {
    name: `openai:${resolved.model}`,
    hostsPrograms: true,
    async converse(opening) {
      const requests = new ProviderRequests(resolved);
      const client = await openAiClient(resolved, requests);
      return new ResponsesConversation(client, resolved, requests, opening);
    },
  };
}

type ResponsesOptions = ResolvedOptions & Resolved<typeof OPENAI_RULES>;

/** One call of the last turn, with what its answer has to carry. */
interface OpenCall {
  readonly id: string;
  readonly output: Fields;
  readonly fromProgram: boolean;
}

class ResponsesConversation implements Conversation {
  readonly #client: OpenAiClient;
  readonly #options: ResponsesOptions;
  readonly #opening: Opening;
  readonly #names: ToolNames;
  readonly #tools: readonly Fields[];
  readonly #about: FailedProvider;
  readonly #ids = new CallIds();
  /** Schemas of the functions that are strict, by their own names. */
  readonly #strict = new Map<string, ToolDeclaration["input"]>();
  readonly #openPrograms = new Set<string>();
  /** What the next request has to say: all there is, or what is new where the provider keeps the rest. */
  #input: Fields[] = [];
  #said: string[] = [];
  #open: readonly OpenCall[] = [];
  #previous: string | undefined;

  constructor(client: OpenAiClient, options: ResponsesOptions, requests: ProviderRequests, opening: Opening) {
    this.#client = client;
    this.#options = options;
    this.#opening = opening;
    this.#names = new ToolNames(
      opening.tools.map(({ name }) => name),
      opening.runProgram ? [opening.runProgram.name] : [],
    );
    this.#tools = this.#declareAll();
    this.#about = { provider: "OpenAI", keyVariable: OPENAI_KEY, key: options.apiKey, requests };
  }

  say(text: string): void {
    this.#said.push(text);
  }

  answer(results: readonly CallResult[]): void {
    const given = new Map(results.map((result) => [result.callId, result]));
    for (const { id, output, fromProgram } of this.#open) {
      const result = given.get(id);
      if (!result) continue;
      const bare = result.isError ? `Error: ${result.text}` : result.text;
      this.#input.push({ ...output, output: fromProgram ? bare : labelledText(result) });
    }
    this.#open = [];
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    if (this.#openPrograms.size === 0) {
      for (const content of this.#said) this.#input.push({ role: "user", content });
      this.#said = [];
    }
    try {
      const reply = await this.#send(request);
      return reply ? this.#read(reply) : this.#failed(this.#options.stream ? "interrupted" : "reply_invalid", "");
    } catch (error) {
      return failedReply(error, request.signal, this.#about);
    }
  }

  async #send({ signal, mostTokens, onText }: TurnRequest): Promise<ResponsesReply | undefined> {
    const { model, maxOutputTokens, store, stream } = this.#options;
    const params = {
      model,
      instructions: this.#opening.instructions,
      input: this.#input,
      tools: this.#tools,
      store,
      // The least that the provider takes.
      max_output_tokens: Math.max(16, Math.min(maxOutputTokens, mostTokens)),
      ...(store ? {} : { include: ["reasoning.encrypted_content"] }),
      ...(this.#previous === undefined ? {} : { previous_response_id: this.#previous }),
      stream,
    } as unknown as Params;
    const given: unknown = await this.#client.responses.create(params, { signal });
    if (!stream) {
      const reply = readResponse(given);
      onText(reply ? wordsOf(reply.items) : "");
      return reply;
    }
    const events = new ResponsesStream(onText);
    for await (const event of given as AsyncIterable<unknown>) events.take(event);
    return events.reply;
  }

  /** Takes a whole reply into the history, and out of it what is to be done. */
  #read(reply: ResponsesReply): TurnReply {
    const { items, usage } = reply;
    if (reply.status === "failed") {
      const code = textOf(reply.error, "code");
      const detail = textOf(reply.error, "message") ?? "";
      return { ...this.#failed(code === "rate_limit_exceeded" ? "rate_limited" : "server_failed", detail), usage };
    }
    const end = endOf(reply);
    if (!end) {
      const detail = `Its status is ${JSON.stringify(reply.status ?? null)}.`;
      return { ...this.#failed("reply_invalid", detail), usage };
    }
    if (this.#options.store) {
      this.#input = [];
      this.#previous = reply.id;
    } else for (const item of items) this.#input.push(without(item, "created_by"));
    const hosted = items.flatMap((item) => this.#newsOf(item));
    const calls = end.type === "cut_off" || end.type === "refused" ? [] : this.#callsOf(items);
    const text = wordsOf(items);
    const whole: TurnEnd = calls.length > 0 ? { type: "called" } : end;
    return { type: "turn", text, calls, hosted, end: whole, usage };
  }

  #callsOf(items: readonly Fields[]): ModelCall[] {
    const open: OpenCall[] = [];
    const calls = items.flatMap((item): ModelCall[] => {
      if (item.type !== "function_call" && item.type !== "custom_tool_call") return [];
      const callId = textOf(item, "call_id") ?? "";
      const id = this.#ids.take(callId);
      const caller = callerOf(item.caller);
      const echo = isFields(item.caller) ? { caller: item.caller } : {};
      open.push({
        id,
        output: { type: `${item.type}_output`, call_id: callId, ...echo },
        fromProgram: caller !== "direct",
      });
      return [this.#callOf(item, id, caller)];
    });
    this.#open = open;
    return calls;
  }

  #callOf(item: Fields, id: string, caller: "direct" | "programmatic" | "unknown"): ModelCall {
    const name = textOf(item, "name") ?? "";
    const namespace = textOf(item, "namespace");
    const isText = item.type === "custom_tool_call";
    if (isText && name === this.#opening.runProgram?.name && caller === "direct")
      return { type: "program_call", id, source: textOf(item, "input") };
    const tool = namespace === undefined ? this.#names.own(name) : `${namespace}.${name}`.slice(0, 256);
    const strict = this.#strict.get(tool);
    const sent = textOf(item, isText ? "input" : "arguments") ?? "";
    const inputText = strict && !isText ? withoutNulls(sent, strict) : sent;
    const program = textOf(item.caller, "caller_id");
    return { type: "tool_call", id, tool, caller, inputText, ...(program === undefined ? {} : { program }) };
  }

  #newsOf(item: Fields): HostedProgramNews[] {
    const program = textOf(item, "call_id") ?? "";
    if (item.type === "program") {
      this.#openPrograms.add(program);
      return [{ type: "hosted_program_started", program, source: textOf(item, "code") ?? "" }];
    }
    if (item.type !== "program_output") return [];
    this.#openPrograms.delete(program);
    const output = textOf(item, "result");
    return [{ type: "hosted_program_ended", program, output, isError: item.status !== "completed" }];
  }

  #declareAll(): readonly Fields[] {
    const { tools, runProgram, hosted } = this.#opening;
    return [
      ...(hosted ? [{ type: "programmatic_tool_calling" }] : []),
      // Its input is the program's text itself, which need not be wrapped in JSON.
      ...(runProgram ? [{ type: "custom", ...runProgram, format: { type: "text" } }] : []),
      ...tools.map((tool) => this.#declare(tool)),
    ];
  }

  #declare({ name, description, input, output, callers }: ToolDeclaration): Fields {
    const strict = this.#options.strict ? strictSchema(input) : undefined;
    if (strict) this.#strict.set(name, input);
    const { hosted } = this.#opening;
    return {
      type: "function",
      name: this.#names.given(name),
      description,
      parameters: strict ?? input,
      strict: strict !== undefined,
      ...(hosted ? { allowed_callers: callers } : {}),
      ...(hosted && output !== undefined ? { output_schema: output } : {}),
    };
  }

  #failed(code: Parameters<typeof failure>[0], detail: string): TurnReply & { readonly type: "failed" } {
    return { type: "failed", failure: failure(code, this.#about, detail) };
  }
}

/** How a call stands that nobody may make yet. */
const UNFINISHED = new Set<unknown>(["incomplete", "in_progress"]);

function endOf({ status, incompleteReason, items }: ResponsesReply): TurnEnd | undefined {
  if (status === "incomplete")
    return incompleteReason === "content_filter"
      ? { type: "refused", reason: "OpenAI's filter stopped the reply." }
      : { type: "cut_off", reason: (incompleteReason ?? "incomplete").slice(0, 100) };
  if (status !== "completed") return undefined;
  const parts = items.filter(({ type }) => type === "message").flatMap((item) => listOf(item, "content"));
  const refusal = parts.map((part) => textOf(part, "refusal")).find((words) => words !== undefined);
  if (refusal !== undefined) return { type: "refused", reason: refusal };
  if (items.some(({ type, status }) => String(type).endsWith("_call") && UNFINISHED.has(status)))
    return { type: "cut_off", reason: "a call is not completed" };
  // Where no message comes after the provider's programs, the model has more to do.
  const last = items.findLast(({ type }) => type === "message" || type === "program" || type === "program_output");
  return { type: last?.type === "message" ? "answered" : "unfinished" };
}

function callerOf(caller: unknown): "direct" | "programmatic" | "unknown" {
  if (caller === undefined || caller === null) return "direct";
  const type = fieldOf(caller, "type");
  if (type === "direct") return "direct";
  return type === "program" ? "programmatic" : "unknown";
}

function wordsOf(items: readonly Fields[]): string {
  return items
    .filter(({ type }) => type === "message")
    .flatMap((item) => listOf(item, "content"))
    .map((part) => textOf(part, "text") ?? "")
    .join("");
}
