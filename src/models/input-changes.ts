import type { JsonSchema } from "../tools/json-schema/json-schema.ts";
import { flatSchema } from "./gemini/flat-schema.ts";
import { PROVIDERS } from "./provider/providers.ts";
import { declaredInput, inputChange } from "./turn/declared-input.ts";

/** How providers are told of a tool's input otherwise than its schema says: each way, with those that are told so. */
export function inputChanges(input: JsonSchema) {
  const ways = Map.groupBy(PROVIDERS.values(), ({ name, inputs }) => {
    const declared = declaredInput(input, inputs);
    return inputChange(input, name === "gemini" ? flatSchema(declared) : declared);
  });
  ways.delete("");
  return [...ways].map(([change, all]) => ({ providers: all.map(({ name }) => name), told: change }));
}
