import type { JsonSchema } from "../tools/json-schema/json-schema.ts";
import { plainSchema } from "./anthropic/request.ts";
import { strictSchema } from "./openai/openai-strict-schema.ts";
import { PROVIDERS, type ProviderName } from "./provider/providers.ts";
import { declaredInput } from "./turn/declared-input.ts";

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
