import { type Fields, textOf } from "../../values/fields.ts";
import type { ResultParts } from "../content-parts.ts";
import type { CallResult, Opening, ToolDeclaration } from "../model.ts";
import { PROGRAM_SCHEMA } from "../program-input.ts";
import type { ConversationParts } from "../provider-conversation.ts";
import { loadSdk } from "../provider-options.ts";
import { provenanceText } from "../result-text.ts";
import type { ToolNames } from "../tool-names.ts";
import { inlineData } from "./content.ts";
import { flatSchema } from "./flat-schema.ts";

export type GeminiClient = InstanceType<(typeof import("@google/genai"))["GoogleGenAI"]>;

/** The SDK's client. What it would read from the environment is set here. */
export async function openClient({ options, requests }: ConversationParts): Promise<GeminiClient> {
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

/** The declarations, the same in every request. */
export function declareTools({ tools, runProgram }: Opening, names: ToolNames): readonly Fields[] {
  return [
    ...(runProgram ? [{ ...runProgram, parametersJsonSchema: flatSchema(PROGRAM_SCHEMA) }] : []),
    ...tools.map((tool) => declareFunction(tool, names)),
  ];
}

export function declareFunction({ name, description, input }: ToolDeclaration, names: ToolNames): Fields {
  return { name: names.given(name), description, parametersJsonSchema: flatSchema(input) };
}

/** Levels of a value that is sent as JSON: Gemini's parser stops at a hundred, the request's own levels included. */
const MAX_DEPTH = 50;

/** The part that carries the result of a call: an object with its provenance, and its value or its error. */
export function responsePart(functionCall: Fields, result: CallResult, { carried, told }: ResultParts): Fields {
  const { text, isJson, isError } = result;
  const id = textOf(functionCall, "id");
  const value: unknown = isJson ? JSON.parse(text) : text;
  const output = isWithin(value, MAX_DEPTH) ? value : text;
  return {
    functionResponse: {
      ...(id === undefined ? {} : { id }),
      name: textOf(functionCall, "name") ?? "",
      response: { from: provenanceText(result, told), ...(isError ? { error: text } : { output }) },
      ...(carried.length > 0 ? { parts: carried.map(inlineData) } : {}),
    },
  };
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((child) => isWithin(child, levels - 1));
}
