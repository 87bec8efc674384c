import { type Fields, isFields, PortcullisError, textOf } from "../../base/index.ts";
import { typeText } from "../../tools/declarations/type-text.ts";
import { leadsToLoop } from "../../tools/json-schema/compile-schema.ts";
import { type JsonSchema, resolveReference } from "../../tools/json-schema/json-schema.ts";
import { type ClosedForm, closedSchema } from "../turn/closed-schema.ts";
import { type ContentForms, fileName, type ResultParts } from "../turn/content-parts.ts";
import type { CallResult, Opening, ToolDeclaration, ModelSettings, ToolChoice } from "../model.ts";
import { PROGRAM_SCHEMA } from "../turn/program-input.ts";
import type { ProviderParts } from "../provider/provider-conversation.ts";
import { loadSdk, type ResolvedOptions } from "../provider/provider-options.ts";
import { NO_TIMEOUT_MS } from "../provider/provider-requests.ts";
import { labelledText } from "../turn/result-text.ts";
import type { ToolNames } from "../turn/tool-names.ts";
import { searchOf } from "../hosted-tools.ts";
import { CODE_EXECUTION_NAME, CODE_EXECUTION_TYPE, WEB_SEARCH_NAME } from "./reply.ts";
import { isReasoned } from "../settings.ts";

export type AnthropicClient = InstanceType<(typeof import("@anthropic-ai/sdk"))["default"]>;

/** The SDK's client. What it would read from the environment, besides default headers, is set here. */
export async function openClient({ options, requests }: ProviderParts): Promise<AnthropicClient> {
  const { default: Anthropic } = await loadSdk("@anthropic-ai/sdk", () => import("@anthropic-ai/sdk"));
  return new Anthropic({
    apiKey: options.apiKey,
    authToken: null,
    baseURL: options.baseUrl?.replace(/\/+(v1\/*)?$/, "") ?? "https://api.anthropic.com",
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    fetch: requests.fetch,
    logLevel: "off",
  });
}

/** The declarations, the same in every request. Throws `option_invalid` for a schema that Anthropic refuses. */
export function declareTools(
  { tools, deferred = [], runProgram, hosted, settings = {} }: Opening,
  names: ToolNames,
  { strict, stream, own }: Pick<ResolvedOptions, "strict" | "stream" | "own">,
): readonly Fields[] {
  const open = { room: strict === false ? -1 : MAX_OPEN, tools: MAX_STRICT };
  // Inputs come in pieces in streamed replies only.
  const streamed = stream && own.eagerInput === true ? { eager_input_streaming: true } : {};
  // The model writes no inputs of calls that programs alone make.
  const declare = (tool: ToolDeclaration) => ({
    ...declareTool(tool, names, hosted),
    ...(tool.callers.includes("direct") && streamed),
  });
  return [
    hosted ? { type: CODE_EXECUTION_TYPE, name: CODE_EXECUTION_NAME } : [],
    searchTools(settings),
    runProgram ? { ...runProgram, input_schema: PROGRAM_SCHEMA, ...streamed } : [],
    tools.map((tool) => strictIfPossible(declare(tool), tool, open)),
    deferred.map((tool) => ({ ...declare(tool), defer_loading: true })),
  ].flat();
}

function searchTools(settings: ModelSettings): readonly Fields[] {
  const search = searchOf(settings);
  if (!search) return [];
  const bounds = { allowed_domains: search.allowedDomains, max_uses: search.maxUses };
  return [{ type: "web_search_20250305", name: WEB_SEARCH_NAME, ...bounds }];
}

/** Maximum number of strict tools in a request, and of optional fields and alternatives in all of them. */
const MAX_STRICT = 20;
const MAX_OPEN = 16;

/** Anthropic refuses `strict` for tools that hosted programs call, and too many optional fields and alternatives. */
function strictIfPossible(declared: Fields, tool: ToolDeclaration, allowed: { room: number; tools: number }): Fields {
  if (allowed.room < 0 || allowed.tools === 0 || tool.callers.includes("programmatic")) return declared;
  const schema = plainSchema(tool.inputSchema);
  const room = allowed.room - countOpen(schema);
  if (!schema || room < 0) return declared;
  allowed.room = room;
  allowed.tools -= 1;
  return { ...declared, input_schema: schema, strict: true };
}

const FORM: ClosedForm = {
  words: new Set(
    "type title description enum const anyOf $ref $defs definitions properties required additionalProperties items format default".split(
      " ",
    ),
  ),
  formats: new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" ")),
};

/**
 * A schema to which Anthropic can hold a model: objects have named fields only, and nothing bounds a number or a
 * length. Undefined for a schema that cannot be expressed so. Every value that fits the result fits the original.
 */
export function plainSchema(schema: JsonSchema): JsonSchema | undefined {
  return schema.type === "object" && !hasCycle(schema) ? closedSchema(schema, FORM, "stay") : undefined;
}

/** Whether a schema refers to itself, directly or through others. */
export function hasCycle(schema: JsonSchema): boolean {
  const partsOf = (part: object): object[] => {
    const reference = textOf(part, "$ref");
    const parts = [...Object.values(part), reference === undefined ? undefined : resolveReference(schema, reference)];
    return parts.filter((one): one is object => typeof one === "object" && one !== null);
  };
  return leadsToLoop<object>(schema, partsOf, new Map());
}

function countOpen(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, one) => sum + countOpen(one), 0);
  if (!isFields(schema)) return 0;
  const { properties, required, anyOf } = schema;
  const optional = isFields(properties)
    ? Object.keys(properties).length - (Array.isArray(required) ? required.length : 0)
    : 0;
  return Math.max(0, optional) + (Array.isArray(anyOf) ? 1 : 0) + countOpen(Object.values(schema));
}

function declareTool(tool: ToolDeclaration, names: ToolNames, hosted: boolean): Fields {
  const forPrograms = hosted && tool.callers.includes("programmatic");
  if (forPrograms && hasCycle(tool.inputSchema))
    throw new PortcullisError(
      "option_invalid",
      `Tool "${tool.name}": its input schema refers to itself, which Anthropic does not accept for tools that hosted programs call. Let only the model call it (allowedCallers: ["direct"]), or run programs locally (programs: "local").`,
    );
  return {
    name: names.aliasOf(tool.name),
    description: forPrograms ? `${tool.description}\n\n${resultDescription(tool)}` : tool.description,
    input_schema: tool.inputSchema,
    ...(hosted && {
      allowed_callers: tool.callers.map((caller) => (caller === "direct" ? "direct" : CODE_EXECUTION_TYPE)),
    }),
  };
}

/** Anthropic has no field for the type of a result, which programs need. */
function resultDescription({ outputSchema: output }: ToolDeclaration): string {
  const type = output === undefined ? "" : `: ${typeText(output, { descriptionLength: 60, depth: 6 })}`;
  return `In a program it returns JSON text, to be read with json.loads${type}. If it fails it returns text that begins with "Error: ".`;
}

export const CONTENT: ContentForms = {
  text: (text) => ({ type: "text", text }),
  data(part) {
    const { type, mediaType, data } = part;
    if (type === "image") return { type: "image", source: { type: "base64", media_type: mediaType, data } };
    const source = mediaType.startsWith("text/")
      ? { type: "text", media_type: "text/plain", data: Buffer.from(data, "base64").toString() }
      : { type: "base64", media_type: mediaType, data };
    return { type: "document", source, title: fileName(part) };
  },
  link: (url, isImage) => ({ type: isImage ? "image" : "document", source: { type: "url", url } }),
};

/** The block that carries a result. `found` are the tools that it shows to the model, by their declared names. */
export function resultBlock(
  toolUseId: string,
  result: CallResult,
  { carried, notes }: ResultParts,
  found: readonly string[],
): Fields {
  // A block that is marked as a failure takes text alone.
  const isMarked = carried.length === 0;
  const text = labelledText(result, { marksFailure: isMarked, notes });
  const blocks = [
    ...carried.map(CONTENT.data),
    // A reference shows the model a tool whose loading was deferred.
    ...found.map((name) => ({ type: "tool_reference", tool_name: name })),
  ];
  const content = blocks.length > 0 ? [{ type: "text", text }, ...blocks] : text;
  return blockOf(toolUseId, content, isMarked && result.isError);
}

/** The block for a hosted program, which takes the bare text alone, because it parses it. */
export function programResultBlock(toolUseId: string, result: CallResult): Fields {
  return blockOf(toolUseId, result.isError ? `Error: ${result.text}` : result.text, result.isError);
}

function blockOf(toolUseId: string, content: unknown, isError: boolean): Fields {
  return { type: "tool_result", tool_use_id: toolUseId, content, ...(isError && { is_error: true }) };
}

/** Anthropic's compaction is in beta. */
export const COMPACTION_HEADERS = { "anthropic-beta": "compact-2026-01-12" };

export function compactionOf({ compactAt }: Pick<Opening, "compactAt">): Fields | undefined {
  if (compactAt === undefined) return undefined;
  return { edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: compactAt } }] };
}

export function settingsFields(settings: ModelSettings, { hosted }: Pick<Opening, "hosted">): Fields {
  const { reasoning, temperature, stop, answer } = settings;
  // Hosted programs exclude what holds a model to a schema.
  const schema = answer === undefined || hosted ? undefined : plainSchema(answer);
  const effort = reasoning?.effort;
  return {
    ...(isReasoned(settings) && {
      thinking: { type: "adaptive", display: reasoning?.summary === true ? "summarized" : "omitted" },
    }),
    ...((effort !== undefined || schema) && {
      output_config: { effort, format: schema && { type: "json_schema", schema } },
    }),
    temperature,
    stop_sequences: stop,
  };
}

/** The choice among tools; undefined if it is the provider's default. */
export function toolChoiceOf(
  choice: ToolChoice,
  { parallelCalls = true }: ModelSettings,
  names: ToolNames,
): Fields | undefined {
  if (choice === "none") return { type: "none" };
  const oneCall = parallelCalls ? {} : { disable_parallel_tool_use: true };
  if (choice === "required") return { type: "any", ...oneCall };
  if (choice !== "auto") return { type: "tool", name: names.aliasOf(choice.tool), ...oneCall };
  return parallelCalls ? undefined : { type: "auto", ...oneCall };
}
