import { CallIds } from "./call-ids.ts";
import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "./fields.ts";
import { flatSchema } from "./flat-schema.ts";
import type {
  CallResult,
  Conversation,
  Model,
  ModelCall,
  ModelUsage,
  Opening,
  ProgramDeclaration,
  TurnEnd,
  TurnReply,
  TurnRequest,
} from "./model.ts";
import { PROGRAM_SCHEMA, sourceOf } from "./program-input.ts";
import { failedReply, failure, type FailedProvider, shownEnd } from "./provider-failure.ts";
import { loadSdk, type ProviderOptions, type ResolvedOptions, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";
import { provenanceText } from "./result-text.ts";
import { decisiveReason } from "./stop-reason.ts";
import { ToolNames } from "./tool-names.ts";

const KEY_VARIABLE = "GEMINI_API_KEY";

type Client = InstanceType<(typeof import("@google/genai"))["GoogleGenAI"]>;
type Params = Parameters<Client["models"]["generateContent"]>[0];

/** Models of Gemini's generateContent. Their programs run here: Google's own cannot call tools. */
export function gemini(options: ProviderOptions): Model {
  const resolved = resolveOptions("gemini", KEY_VARIABLE, options);
  return {
    name: `gemini:${resolved.model}`,
    hostsPrograms: false,
    async converse(opening) {
      const { GoogleGenAI } = await loadSdk("@google/genai", () => import("@google/genai"));
      const requests = new ProviderRequests(resolved);
      const client = new GoogleGenAI({
        apiKey: resolved.apiKey,
        // What the environment has for other services is not for this conversation.
        vertexai: false,
        httpOptions: {
          baseUrl: (resolved.baseUrl ?? "https://generativelanguage.googleapis.com").replace(/\/+(v1beta\/*)?$/, ""),
          apiVersion: "v1beta",
          fetch: requests.fetch,
        },
      });
      return new GeminiConversation(client, resolved, requests, opening);
    },
  };
}

/** A whole turn, its parts as they go back in the next request. */
interface GeminiReply {
  readonly parts: readonly Fields[];
  readonly finishReason: string | undefined;
  readonly blockReason: string | undefined;
  readonly usage: ModelUsage;
}

class GeminiConversation implements Conversation {
  readonly #client: Client;
  readonly #options: ResolvedOptions;
  readonly #instructions: string;
  readonly #runProgram: ProgramDeclaration | undefined;
  readonly #names: ToolNames;
  readonly #declarations: readonly Fields[];
  readonly #about: FailedProvider;
  readonly #contents: Fields[] = [];
  readonly #ids = new CallIds();
  #next: Fields[] = [];
  #open: readonly { readonly id: string; readonly functionCall: Fields }[] = [];

  constructor(
    client: Client,
    options: ResolvedOptions,
    requests: ProviderRequests,
    { instructions, tools, runProgram }: Opening,
  ) {
    this.#client = client;
    this.#options = options;
    this.#instructions = instructions;
    this.#runProgram = runProgram;
    this.#names = new ToolNames(
      tools.map(({ name }) => name),
      runProgram ? [runProgram.name] : [],
    );
    this.#declarations = [
      ...(runProgram ? [{ ...runProgram, parametersJsonSchema: flatSchema(PROGRAM_SCHEMA) }] : []),
      ...tools.map(({ name, description, input }) => ({
        name: this.#names.given(name),
        description,
        parametersJsonSchema: flatSchema(input),
      })),
    ];
    this.#about = { provider: "Gemini", keyVariable: KEY_VARIABLE, key: options.apiKey, requests };
  }

  say(text: string): void {
    this.#next.push({ text });
  }

  /** Results first, in the order of the calls: where those have no ids, that is what they are told apart by. */
  answer(results: readonly CallResult[]): void {
    const given = new Map(results.map((result) => [result.callId, result]));
    const parts = this.#open.flatMap(({ id, functionCall }) => {
      const result = given.get(id);
      return result ? [responsePart(functionCall, result)] : [];
    });
    this.#next = [...parts, ...this.#next];
    this.#open = [];
  }

  async turn(request: TurnRequest): Promise<TurnReply> {
    if (this.#next.length > 0) this.#contents.push({ role: "user", parts: this.#next });
    this.#next = [];
    const chunks: unknown[] = [];
    try {
      await this.#send(request, chunks);
      return this.#read(joined(chunks));
    } catch (error) {
      return failedReply(error, request.signal, this.#about, joined(chunks).usage);
    }
  }

  async #send({ signal, mostTokens, onText }: TurnRequest, chunks: unknown[]): Promise<void> {
    const { model, maxOutputTokens, stream } = this.#options;
    const params = {
      model,
      // The SDK leaves out what it does not know, signed or not: it sees what is ours, and all goes as it is in the body.
      contents: this.#contents.slice(-1),
      config: {
        httpOptions: { extraBody: { contents: this.#contents } },
        systemInstruction: this.#instructions,
        maxOutputTokens: Math.max(1, Math.min(maxOutputTokens, mostTokens)),
        abortSignal: signal,
        automaticFunctionCalling: { disable: true },
        ...(this.#declarations.length > 0 ? { tools: [{ functionDeclarations: this.#declarations }] } : {}),
      },
    } as unknown as Params;
    const given = stream
      ? await this.#client.models.generateContentStream(params)
      : [await this.#client.models.generateContent(params)];
    for await (const chunk of given as AsyncIterable<unknown> | Iterable<unknown>) {
      chunks.push(chunk);
      onText(wordsOf(partsOf(chunk)));
    }
  }

  /** Takes a whole reply into the history, and out of it what is to be done. No part is moved, merged or left out: some are signed. */
  #read({ parts, finishReason, blockReason, usage }: GeminiReply): TurnReply {
    if (blockReason !== undefined) return turnOf("", [], shownEnd(refusedPrompt(blockReason), this.#about), usage);
    const end = endOf(finishReason);
    if (!end) {
      const code = finishReason === undefined && this.#options.stream ? "interrupted" : "reply_invalid";
      return { type: "failed", failure: failure(code, this.#about, finishReason ?? ""), usage };
    }
    if (parts.length > 0) this.#contents.push({ role: "model", parts });
    // It is not asked to send calls in pieces, and nothing here puts them together.
    if (parts.some(({ functionCall }) => isFields(functionCall) && isPiece(functionCall)))
      return { type: "failed", failure: failure("reply_invalid", this.#about, "It holds a part of a call."), usage };
    const calls = end.type === "answered" ? this.#callsOf(parts) : [];
    return turnOf(wordsOf(parts), calls, calls.length > 0 ? { type: "called" } : shownEnd(end, this.#about), usage);
  }

  #callsOf(parts: readonly Fields[]): ModelCall[] {
    const open: { readonly id: string; readonly functionCall: Fields }[] = [];
    const calls = parts.flatMap(({ functionCall }): ModelCall[] => {
      if (!isFields(functionCall)) return [];
      const id = this.#ids.take(textOf(functionCall, "id"));
      open.push({ id, functionCall });
      const name = textOf(functionCall, "name") ?? "";
      const inputText = JSON.stringify(fieldOf(functionCall, "args") ?? {});
      if (name === this.#runProgram?.name) return [{ type: "program_call", id, source: sourceOf(inputText) }];
      return [{ type: "tool_call", id, tool: this.#names.own(name), caller: "direct", inputText }];
    });
    this.#open = open;
    return calls;
  }
}

/** The block for a result holds an object: where it comes from, then a value as it is, or what went wrong by its own name. */
function responsePart(functionCall: Fields, result: CallResult): Fields {
  const { text, isJson, isError } = result;
  const id = textOf(functionCall, "id");
  const value: unknown = isJson ? JSON.parse(text) : text;
  const output = isWithin(value, DEEPEST) ? value : text;
  return {
    functionResponse: {
      ...(id === undefined ? {} : { id }),
      name: textOf(functionCall, "name") ?? "",
      response: { from: provenanceText(result), ...(isError ? { error: text } : { output }) },
    },
  };
}

/** Levels of a value that the provider is sent as a value: what it parses with stops at a hundred, the request included. */
const DEEPEST = 50;

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((child) => isWithin(child, levels - 1));
}

function turnOf(text: string, calls: readonly ModelCall[], end: TurnEnd, usage: ModelUsage): TurnReply {
  return { type: "turn", text, calls, hosted: [], end, usage };
}

const WHOLE_REASONS: ReadonlySet<string> = new Set(["STOP"]);
const REFUSALS = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "LANGUAGE",
]);

function refusedPrompt(blockReason: string): TurnEnd {
  return { type: "refused", reason: `Gemini does not take the prompt: ${blockReason}.` };
}

/** Undefined where there is no whole turn: it broke off, or holds a call that even the provider cannot read. */
function endOf(finishReason: string | undefined): TurnEnd | undefined {
  if (finishReason === "STOP") return { type: "answered" };
  if (finishReason === "MAX_TOKENS") return { type: "cut_off", reason: finishReason };
  if (finishReason !== undefined && REFUSALS.has(finishReason))
    return { type: "refused", reason: `Gemini stopped the reply: ${finishReason}.` };
  return undefined;
}

function joined(chunks: readonly unknown[]): GeminiReply {
  const last = (read: (chunk: unknown) => unknown) => chunks.map(read).findLast((value) => value !== undefined);
  let finishReason: string | undefined;
  for (const chunk of chunks)
    finishReason = decisiveReason(finishReason, textOf(candidateOf(chunk), "finishReason"), WHOLE_REASONS);
  const blockReason = last((chunk) => textOf(fieldOf(chunk, "promptFeedback"), "blockReason"));
  return {
    parts: chunks.flatMap(partsOf),
    finishReason,
    blockReason: typeof blockReason === "string" ? blockReason : undefined,
    usage: usageOf(last((chunk) => fieldOf(chunk, "usageMetadata"))),
  };
}

function isPiece(functionCall: Fields): boolean {
  return functionCall.willContinue === true || listOf(functionCall, "partialArgs").length > 0;
}

/** The one candidate that was asked for: what a server says of others belongs to other replies. */
function candidateOf(chunk: unknown): unknown {
  return listOf(chunk, "candidates").find((candidate) => (fieldOf(candidate, "index") ?? 0) === 0);
}

function partsOf(chunk: unknown): readonly Fields[] {
  return listOf(fieldOf(candidateOf(chunk), "content"), "parts").filter(isFields);
}

function wordsOf(parts: readonly Fields[]): string {
  return parts.map((part) => (part.thought === true ? "" : (textOf(part, "text") ?? ""))).join("");
}

function usageOf(usage: unknown): ModelUsage {
  return {
    inputTokens: countOf(usage, "promptTokenCount") + countOf(usage, "toolUsePromptTokenCount"),
    outputTokens: countOf(usage, "candidatesTokenCount") + countOf(usage, "thoughtsTokenCount"),
    cachedInputTokens: countOf(usage, "cachedContentTokenCount"),
  };
}
