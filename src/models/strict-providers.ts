import type { JsonSchema } from "../tools/json-schema/json-schema.ts";
import { plainSchema } from "./anthropic/request.ts";
import { flatSchema } from "./gemini/flat-schema.ts";
import { strictSchema } from "./openai/openai-strict-schema.ts";
import { PROVIDERS, type ProviderName } from "./provider/providers.ts";
import { declaredInput, inputChange } from "./turn/declared-input.ts";

const HOLDS: Readonly<Record<ProviderName, (input: JsonSchema) => boolean>> = {
  anthropic: (input) => plainSchema(input) !== undefined,
  openai: (input) => strictSchema(input) !== undefined,
  "openai-chat": (input) => strictSchema(input) !== undefined,
  // The mode `VALIDATED` holds all calls.
  gemini: () => true,
};

/**
 * The providers that hold direct calls of a tool with this input to its schema, if they are asked to (`strict`). In one
 * request Anthropic holds twenty tools at most.
 */
export function strictProviders(input: JsonSchema): readonly ProviderName[] {
  return [...PROVIDERS.values()].flatMap(({ name, inputs }) => (HOLDS[name](declaredInput(input, inputs)) ? name : []));
}

/** How providers are told of a tool's input otherwise than its schema says: each way, with those that are told so. */
export function inputChanges(input: JsonSchema) {
  const ways = Map.groupBy(PROVIDERS.values(), ({ name, inputs }) => {
    const declared = declaredInput(input, inputs);
    return inputChange(input, name === "gemini" ? flatSchema(declared) : declared);
  });
  ways.delete("");
  return [...ways].map(([told, all]) => ({ providers: all.map(({ name }) => name), told }));
}
