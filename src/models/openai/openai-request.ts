import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import type { TextFormat } from "../../tools/text-format.ts";
import type { Fields } from "../../base/index.ts";
import type { ToolDeclaration } from "../model.ts";
import type { NamedTool } from "../provider/declaring-conversation.ts";
import type { ProviderParts } from "../provider/provider-conversation.ts";
import { loadSdk } from "../provider/provider-options.ts";
import { NO_TIMEOUT_MS } from "../provider/provider-requests.ts";
import { contentBlocks, type ContentForms, type MessageContent } from "../turn/content-parts.ts";
import { completeSchema, exactSchema, strictSchema, withoutNulls } from "./openai-strict-schema.ts";

export type OpenAiClient = InstanceType<(typeof import("openai"))["default"]>;

/** The SDK's client, for both protocols of OpenAI. What it would read from the environment, besides default headers, is set here. */
export async function openClient({ options, requests }: ProviderParts): Promise<OpenAiClient> {
  const { default: OpenAI } = await loadSdk("openai", () => import("openai"));
  const { pathname, origin } = new URL(options.baseUrl ?? "https://api.openai.com");
  return new OpenAI({
    apiKey: options.apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    // Compatible servers need `/v1` after a bare origin. A URL with a path stays as it is.
    baseURL: pathname === "/" ? `${origin}/v1` : options.baseUrl?.replace(/\/+$/, ""),
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    fetch: requests.fetch,
    logLevel: "off",
  });
}

export function userMessage(message: MessageContent, byUrl: readonly string[], forms: ContentForms): Fields {
  return { role: "user", content: typeof message === "string" ? message : contentBlocks(message, byUrl, forms) };
}

/** The declaration of a function, strict if that is asked for and its schema allows it. */
export function functionFields({ name, description, inputSchema: input }: NamedTool, isStrict: boolean) {
  const strict = isStrict ? strictSchema(input) : undefined;
  return { name, description, parameters: strict ?? completeSchema(input), strict: strict !== undefined };
}

/** Which texts a custom tool takes. */
export function grammarOf(format: TextFormat): Fields {
  return format === "text" ? { type: "text" } : { type: "grammar", syntax: "regex", definition: format.regex };
}

/** What a model wrote for a strict function, as its tool takes it: nulls stand for fields that are absent. */
export function strictInput(tool: ToolDeclaration | undefined, inputText: string): string {
  return tool && strictSchema(tool.inputSchema) ? withoutNulls(inputText, tool.inputSchema) : inputText;
}

/** The form of an answer, strict if the schema allows it; undefined for an answer that is no object. */
export function answerFormat(schema: JsonSchema | undefined): Fields | undefined {
  if (schema?.type !== "object") return undefined;
  const exact = exactSchema(schema);
  return { name: "answer", schema: exact ?? schema, strict: exact !== undefined };
}
