import { isDeepStrictEqual } from "node:util";
import { gemini } from "../../../src/index.ts";
import type { Asked, ServerEvent } from "../loopback.ts";
import { inputTextOf, pieces, type Wire, type WireState, type WireTurn } from "../wire.ts";

type Part = Record<string, unknown> & { readonly functionCall?: Call; readonly functionResponse?: Call };
interface Call {
  readonly parts?: readonly Part[];
  readonly id?: string;
  readonly name: string;
  readonly response?: Record<string, unknown>;
}
interface Content {
  readonly role: string;
  readonly parts: readonly Part[];
}

const FIELDS = new Set(["contents", "systemInstruction", "generationConfig", "tools", "toolConfig"]);
const USAGE = {
  promptTokenCount: 100,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 5,
  totalTokenCount: 120,
  cachedContentTokenCount: 3,
};
const WORDS = new Set(
  "type format title description enum items minItems maxItems properties required minimum maximum minLength maxLength pattern anyOf".split(
    " ",
  ),
);

/** Gemini's generateContent, as strict as the real one about what adapters get wrong. */
export const geminiWire: Wire = {
  key: "AIza-loopback-key-1234",
  model: (options) => gemini({ model: "gemini-test", ...options }),
  isStreamed: ({ path }) => path.includes(":streamGenerateContent"),
  keyOf: ({ headers }) => headers["x-goog-api-key"] as string | undefined,
  refuse: (asked, state) => faultOf(asked, state),
  json: replyOf,
  events: eventsOf,
  lastEvents: 1,
  error: (status, message) => ({ error: { code: status, message, status: "FAULT" } }),
  errorEvent: { data: JSON.stringify({ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }) },
};

// ---- replies ---------------------------------------------------------------------------------------------------

function replyOf(turn: WireTurn, number: number): Record<string, unknown> {
  const finishReason = turn.end === "cut_off" ? "MAX_TOKENS" : turn.end === "refused" ? "SAFETY" : "STOP";
  const { parts: _, finishReason: raw = finishReason, groundingMetadata, ...others } = turn.raw ?? {};
  const grounding = groundingMetadata === undefined ? {} : { groundingMetadata };
  return {
    candidates: [{ content: { role: "model", parts: partsOf(turn) }, finishReason: raw, ...grounding, index: 0 }],
    usageMetadata: USAGE,
    modelVersion: "gemini-test",
    responseId: `response_${number}`,
    ...others,
  };
}

function partsOf({ text, reasoning, calls = [], raw }: WireTurn): Part[] {
  if (raw?.parts) return raw.parts as Part[];
  return [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map((call) => ({
      functionCall: {
        ...(call.id === undefined ? {} : { id: call.id }),
        name: call.program === undefined ? (call.tool ?? "") : "run_program",
        args: argsOf(call.program === undefined ? inputTextOf(call) : JSON.stringify({ code: call.program })),
      },
    })),
  ];
}

/** Arguments are always an object here. */
function argsOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? {} : value;
  } catch {
    return {};
  }
}

/** Each part comes in a chunk of its own, texts in several, and the reason to stop at the end. */
function eventsOf(turn: WireTurn, number: number): ServerEvent[] {
  const reply = replyOf(turn, number);
  const [first] = reply.candidates as [{ content: Content }?];
  if (!first) return [{ data: JSON.stringify(reply) }];
  const { content, ...candidate } = first;
  const parts = content.parts.flatMap((part): Part[] =>
    typeof part.text === "string" && part.text !== "" && Object.keys(part).length === 1
      ? pieces(part.text)
          .slice(1)
          .map((text) => ({ text }))
      : [part],
  );
  const chunks = [
    ...parts.map((part) => ({
      candidates: [{ content: { role: "model", parts: [part] }, index: 0 }],
      usageMetadata: { promptTokenCount: 100 },
    })),
    { ...reply, candidates: [{ ...candidate, content: { role: "model", parts: [] } }] },
  ];
  return chunks.map((chunk) => ({ data: JSON.stringify(chunk) }));
}

// ---- what is refused -------------------------------------------------------------------------------------------

function faultOf({ method, path, body }: Asked, { replies }: WireState): string | undefined {
  if (
    method !== "POST" ||
    !/^\/v1beta\/models\/gemini-test:(generateContent|streamGenerateContent\?alt=sse)$/.test(path)
  )
    return `there is no ${method} ${path}`;
  const extra = Object.keys(body).find((name) => !FIELDS.has(name));
  if (extra !== undefined) return `Invalid JSON payload received. Unknown name "${extra}"`;
  const setting = settingFault(body);
  if (setting !== undefined) return setting;
  const tools = (body.tools ?? []) as readonly { readonly functionDeclarations?: readonly Record<string, unknown>[] }[];
  for (const { name, parametersJsonSchema } of tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations)) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(String(name))) return "Invalid function name";
    const word = unknownWord(parametersJsonSchema);
    if (word !== undefined) return `Unknown name "${word}" in schema`;
  }
  return historyFault(body.contents as readonly Content[], replies);
}

const GENERATION = new Set(
  "maxOutputTokens temperature stopSequences thinkingConfig responseMimeType responseJsonSchema".split(" "),
);

interface Calling {
  readonly mode?: string;
  readonly allowedFunctionNames?: readonly string[];
}

function settingFault(body: Record<string, unknown>): string | undefined {
  const { generationConfig = {}, toolConfig } = body as {
    readonly generationConfig?: Record<string, unknown>;
    readonly toolConfig?: {
      readonly functionCallingConfig?: Calling;
      readonly includeServerSideToolInvocations?: true;
    };
  };
  const tools = (body.tools ?? []) as readonly { functionDeclarations?: readonly { name: string }[] }[];
  const declared = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name));
  if (tools.some((tool) => "googleSearch" in tool) && toolConfig?.includeServerSideToolInvocations !== true)
    return "Built-in tools beside functions need include_server_side_tool_invocations";
  const extra = Object.keys(generationConfig).find((name) => !GENERATION.has(name));
  if (extra !== undefined) return `Unknown name "${extra}" at 'generation_config'`;
  const { thinkingLevel = "LOW", includeThoughts = true } = (generationConfig.thinkingConfig ?? {}) as Record<
    string,
    unknown
  >;
  if (!["LOW", "MEDIUM", "HIGH"].includes(String(thinkingLevel)) || includeThoughts !== true)
    return "Invalid value at 'generation_config.thinking_config'";
  if (generationConfig.responseMimeType !== undefined && declared.length > 0)
    return "Function calling with a response mime type: 'application/json' is unsupported";
  if (!toolConfig?.functionCallingConfig) return undefined;
  const { mode, allowedFunctionNames = [] } = toolConfig.functionCallingConfig;
  if (!["AUTO", "ANY", "NONE", "VALIDATED"].includes(String(mode)) || declared.length === 0)
    return "Invalid value at 'tool_config.function_calling_config.mode'";
  if (allowedFunctionNames.length > 0 && mode !== "ANY") return "allowed_function_names needs the mode ANY";
  return allowedFunctionNames.every((name) => declared.includes(name))
    ? undefined
    : "allowed_function_names should be a subset of the functions declared";
}

/** A word of a schema that Gemini does not know. */
export function unknownWord(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const { properties = {}, items, anyOf = [] } = schema as { properties?: object; items?: unknown; anyOf?: unknown[] };
  const unknown = Object.keys(schema).find((word) => !WORDS.has(word));
  return unknown ?? [...Object.values(properties), items, ...anyOf].map(unknownWord).find((word) => word !== undefined);
}

/** Parts of the model come back as they were, signed or not, and each call has its response, in order. */
function historyFault(contents: readonly Content[], replies: readonly unknown[]): string | undefined {
  if (contents[0]?.role !== "user") return "contents: must begin with the user";
  const echoed = contents.filter(({ role }) => role === "model").map(({ parts }) => whole(parts));
  const given = replies
    .map((reply) => (reply as { readonly candidates: [{ readonly content: Content }] }).candidates[0].content.parts)
    .filter(({ length }) => length > 0)
    .map(whole);
  if (!isDeepStrictEqual(echoed, given))
    return "contents: parts of the model were changed, or a thought_signature is missing";
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== "model") continue;
    const wanted = parts.flatMap(({ functionCall }) => (functionCall ? [[functionCall.id, functionCall.name]] : []));
    const next = contents[index + 1];
    const found = (next?.parts ?? []).flatMap(({ functionResponse }) => (functionResponse ? [functionResponse] : []));
    if (
      !isDeepStrictEqual(
        found.map(({ id, name }) => [id, name]),
        wanted,
      )
    )
      return "Please ensure that the number of function response parts is equal to the number of function call parts";
    const media = found.flatMap(({ parts: inner = [] }) => inner);
    if (!media.every(isInline)) return "function_response.parts: must be inline data";
    // Where neither is there the real one takes the whole object for the output.
    const bad = found.some(({ response = {} }) => "output" in response === "error" in response);
    if (bad) return "function_response.response: must be an object with output or error";
  }
  return undefined;
}

function isInline(part: Part): boolean {
  const { mimeType, data } = (part.inlineData ?? {}) as Record<string, unknown>;
  return typeof mimeType === "string" && typeof data === "string" && Object.keys(part).length === 1;
}

/** Texts that came in pieces may go back in pieces. */
function whole(parts: readonly Part[]): unknown[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isPlain = (one: Part | undefined) => typeof one?.text === "string" && Object.keys(one).length === 1;
    if (last && isPlain(last) && isPlain(part))
      joined[joined.length - 1] = { text: `${String(last.text)}${String(part.text)}` };
    else joined.push(part);
  }
  return joined;
}
