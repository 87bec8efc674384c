import type { Model } from "./model.ts";
import { makeModel, type ProviderName, PROVIDERS } from "./provider/providers.ts";

/** A provider and a model of it, like `anthropic:claude-sonnet-4-5`. The key is the provider's environment variable. */
export type ModelName = `${ProviderName}:${string}`;

/** Forms of a model's name, for errors. */
export const MODEL_NAMES = [...PROVIDERS.keys()].map((name) => `${name}:NAME`).join(", ");

/** The provider and its model that a name tells; undefined for another text. */
export function readModelName(text: string) {
  const colon = text.indexOf(":");
  const provider = PROVIDERS.get(text.slice(0, Math.max(0, colon)));
  const model = text.slice(colon + 1);
  return provider === undefined || model === "" ? undefined : { provider, model };
}

export function isModelName(value: unknown): value is ModelName {
  return typeof value === "string" && readModelName(value) !== undefined;
}

/** The given model, or the model of a given name. Throws `model_unavailable` if there is no key. */
export function modelOf(model: Model | ModelName): Model {
  if (typeof model !== "string") return model;
  const named = readModelName(model);
  if (!named) throw new TypeError("Names of models are checked before.");
  return makeModel(named.provider, { model: named.model });
}

/** The longest of these beginnings of the name of a model, like `openai` or `openai:gpt-5`; undefined if none begins it. */
export function longestBeginning(beginnings: readonly string[], model: string): string | undefined {
  return beginnings.filter((one) => model.startsWith(one)).toSorted((one, other) => other.length - one.length)[0];
}
