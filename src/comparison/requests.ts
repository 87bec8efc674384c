import { describe, fieldOf, type Fields, isFields, listOf, PortcullisError, textOf, without } from "../base/index.ts";
import type { Opening } from "../models/model.ts";
import { toolNamesOf } from "../models/turn/index.ts";
import { makeModel, type ProviderName, PROVIDERS } from "../models/provider/providers.ts";
import type { TranscriptTurn } from "../conversations/from-journal/index.ts";

/** A conversation as a model had it. The last turn answers, and calls nothing. */
export interface ComparedConversation {
  readonly opening: Opening;
  readonly turns: readonly TranscriptTurn[];
}

/** What a model reads of a request, without the envelope round its parts, which differs by provider. */
export interface ModelRequest {
  readonly instructions: string;
  /** JSON text of the declarations as they were sent; empty without declarations. */
  readonly definitions: string;
  readonly parts: readonly RequestPart[];
}

export interface RequestPart {
  /** `said` by the user; `words` of the model itself. */
  readonly kind: "said" | "words" | "call" | "result";
  /** Of a call, the name, and the input as it was written: JSON, or the source of a program. */
  readonly texts: readonly string[];
}

/** Providers whose encoding is o200k_base; for others, counts are estimates. */
export const EXACT: ReadonlySet<ProviderName> = new Set(["openai", "openai-chat"]);

/** The providers whose SDK, which their adapter loads, is installed. Throws `model_unavailable` if there is none. */
export function installedProviders(): readonly ProviderName[] {
  const installed = [...PROVIDERS.values()].filter(({ sdk }) => isInstalled(sdk)).map(({ name }) => name);
  if (installed.length > 0) return installed;
  throw new PortcullisError(
    "model_unavailable",
    "A comparison counts the tokens of the requests that a provider's SDK makes, and no SDK is installed: npm install openai.",
  );
}

function isInstalled(sdk: string): boolean {
  try {
    return import.meta.resolve(sdk) !== "";
  } catch {
    return false;
  }
}

/** What the model read last: the request that the provider's adapter makes for the last turn. It reaches no provider. */
export async function lastRequest(
  provider: ProviderName,
  question: string,
  { opening, turns }: ComparedConversation,
): Promise<ModelRequest> {
  let sent: unknown;
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    sent = init?.body;
    return new Response(null, { status: 400 });
  };
  const options = { model: "offline", apiKey: "offline", stream: false, retries: 0, fetch };
  const conversation = await makeModel(PROVIDERS.get(provider)!, options).converse(opening);
  conversation.say(question);
  for (const { turn, results } of turns.slice(0, -1)) {
    conversation.restore!(turn, provider === "gemini" ? geminiReply(opening, turn) : undefined);
    conversation.answer(results);
  }
  const signal = new AbortController().signal;
  await conversation.turn({ signal, maxTokens: Number.MAX_SAFE_INTEGER, onText: () => {} });
  if (typeof sent !== "string") throw unread(provider, "the body", sent);
  return readRequest(provider, JSON.parse(sent) as Fields);
}

/** A turn as a reply of Gemini, whose conversations take no turn of another model. */
function geminiReply(opening: Opening, { text, calls }: TranscriptTurn["turn"]): string {
  const parts = calls.map((call) => {
    const isTool = call.type === "tool_call";
    const name = isTool ? toolNamesOf(opening).aliasOf(call.tool) : opening.runProgram?.name;
    const args: unknown = isTool ? JSON.parse(call.inputText) : { code: call.source };
    return { functionCall: { id: call.id, name, args } };
  });
  return JSON.stringify({ candidates: [{ content: { parts: [{ text }, ...parts] }, finishReason: "STOP" }] });
}

function unread(provider: ProviderName, what: string, got: unknown): PortcullisError {
  const message = `The adapter of ${provider} sent ${describe(got)} as ${what}, which a comparison cannot count.`;
  return new PortcullisError("option_invalid", message);
}

function readRequest(provider: ProviderName, body: Fields): ModelRequest {
  const blocks = ["messages", "input", "contents"].flatMap((field) => listOf(body, field).flatMap(blocksOf));
  const own = [textOf(body, "system") ?? listOf(body, "system")[0], textOf(body, "instructions")];
  const ofGemini = listOf(fieldOf(body, "systemInstruction"), "parts");
  const instructions = [...own, ...ofGemini, ...blocks.flatMap(([role, block]) => (isOfHost(role) ? [block] : []))];
  // Two fields are for the API and not for the model.
  const tools = listOf(body, "tools").map((tool) =>
    isFields(tool) ? without(tool, "cache_control", "eager_input_streaming") : tool,
  );
  return {
    instructions: instructions
      .map((one) => (typeof one === "string" ? one : textOf(one, "text")))
      .filter((one) => one !== undefined)
      .join("\n"),
    definitions: tools.length === 0 ? "" : JSON.stringify(tools),
    parts: blocks
      .filter(([role]) => !isOfHost(role))
      .map((block) => partOf(provider, block))
      .filter(({ texts: [text] }) => text !== ""),
  };
}

type Block = readonly [role: string | undefined, block: unknown];

function isOfHost(role: string | undefined): boolean {
  return role === "system" || role === "developer";
}

/** The blocks of a message. An item without a role, and a result of the older API of OpenAI, is a block itself. */
function blocksOf(message: unknown): readonly Block[] {
  const role = textOf(message, "role");
  if (role === undefined || role === "tool") return [[role, message]];
  return ["content", "parts", "tool_calls"].flatMap((field) => {
    const text = textOf(message, field);
    return (text === undefined ? listOf(message, field) : [{ text }]).map((block): Block => [role, block]);
  });
}

function partOf(provider: ProviderName, [role, block]: Block): RequestPart {
  const text = textOf(block, "text");
  if (text !== undefined) return { kind: role === "user" ? "said" : "words", texts: [text] };
  const call = fieldOf(block, "functionCall") ?? fieldOf(block, "function") ?? block;
  const name = textOf(call, "name");
  // An empty program has no input.
  const input = fieldOf(call, "args") ?? fieldOf(call, "arguments") ?? fieldOf(call, "input") ?? "";
  if (name !== undefined) return { kind: "call", texts: [name, asText(input)] };
  const result =
    fieldOf(fieldOf(block, "functionResponse"), "response") ?? fieldOf(block, "output") ?? fieldOf(block, "content");
  if (result === undefined) throw unread(provider, "a part of the conversation", block);
  return { kind: "result", texts: [asText(result)] };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
