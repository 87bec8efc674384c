import { type Fields, textOf } from "../../base/index.ts";
import type { ContentForms, ResultParts } from "../turn/content-parts.ts";
import type { CallResult, ModelSettings, ToolChoice } from "../model.ts";
import type { ProviderParts } from "../provider/provider-conversation.ts";
import { loadSdk } from "../provider/provider-options.ts";
import { labelOf } from "../turn/result-text.ts";
import type { ToolNames } from "../turn/tool-names.ts";
import { flatSchema } from "./flat-schema.ts";
import { isReasoned } from "../settings.ts";

export type GeminiClient = InstanceType<(typeof import("@google/genai"))["GoogleGenAI"]>;

/** The SDK's client. What it would read from the environment is set here. */
export async function openClient({ options, requests }: ProviderParts): Promise<GeminiClient> {
  const { GoogleGenAI } = await loadSdk("@google/genai", () => import("@google/genai"));
  return new GoogleGenAI({
    apiKey: options.apiKey,
    vertexai: false,
    httpOptions: {
      baseUrl: (options.baseUrl ?? "https://generativelanguage.googleapis.com").replace(/\/+(v1beta\/*)?$/, ""),
      apiVersion: "v1beta",
      fetch: requests.fetch,
    },
  });
}

export const CONTENT: ContentForms = {
  text: (text) => ({ text }),
  data: ({ mediaType, data }) => ({ inlineData: { mimeType: mediaType, data } }),
};

/** Levels of a value that is sent as JSON: Gemini's parser stops at a hundred, the request's own levels included. */
const MAX_DEPTH = 50;

/** The part that carries the result of a call. */
export function responsePart(functionCall: Fields, result: CallResult, parts: ResultParts): Fields {
  const id = textOf(functionCall, "id");
  return {
    functionResponse: {
      id,
      name: textOf(functionCall, "name") ?? "",
      response: responseOf(result, parts),
      ...(parts.carried.length > 0 && { parts: parts.carried.map(CONTENT.data) }),
    },
  };
}

/** A result as an object with its value or its error, and its label. */
export function responseOf(result: CallResult, { notes }: ResultParts): Fields {
  const { text, isJson, isError } = result;
  const value: unknown = isJson ? JSON.parse(text) : text;
  const output = isWithin(value, MAX_DEPTH) ? value : text;
  const about = labelOf(result, { marksFailure: true, notes });
  return { about, ...(isError ? { error: text } : { output }) };
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((child) => isWithin(child, levels - 1));
}

/** The settings as fields of the SDK's `config`. Gemini takes no schema of an answer beside tools. */
export function settingsConfig(settings: ModelSettings, hasTools: boolean): Fields {
  const { reasoning, temperature, stop, answer } = settings;
  return {
    ...(isReasoned(settings) && {
      thinkingConfig: {
        thinkingLevel: reasoning?.effort?.toUpperCase(),
        includeThoughts: reasoning?.summary || undefined,
      },
    }),
    temperature,
    stopSequences: stop,
    ...(answer !== undefined &&
      !hasTools && { responseMimeType: "application/json", responseJsonSchema: flatSchema(answer) }),
  };
}

/** Gemini tells of calls of its own tools only if it is asked to, and takes them beside functions only then. */
export function toolFields(declarations: readonly Fields[], mode: Fields | undefined, searches: boolean): Fields {
  const hasTools = declarations.length > 0;
  const functionCallingConfig = hasTools ? mode : undefined;
  const own = searches ? { includeServerSideToolInvocations: true } : {};
  return {
    ...((hasTools || searches) && {
      tools: [hasTools ? { functionDeclarations: declarations } : [], searches ? { googleSearch: {} } : []].flat(),
    }),
    ...((functionCallingConfig || searches) && {
      toolConfig: { functionCallingConfig, ...own },
    }),
  };
}

/** The mode of function calling; undefined if it is the provider's default. `strict` holds calls to their schemas. */
export function callingMode(choice: ToolChoice, names: ToolNames, strict: boolean): Fields | undefined {
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required") return { mode: "ANY" };
  if (choice !== "auto") return { mode: "ANY", allowedFunctionNames: [names.aliasOf(choice.tool)] };
  return strict ? { mode: "VALIDATED" } : undefined;
}
