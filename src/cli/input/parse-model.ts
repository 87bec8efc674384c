import { optionError } from "../../errors.ts";
import { anthropic } from "../../models/anthropic-messages.ts";
import { gemini } from "../../models/gemini.ts";
import type { Model } from "../../models/model.ts";
import { openaiChat } from "../../models/openai-chat.ts";
import { openai } from "../../models/openai-responses.ts";
import type { ProviderOptions } from "../../models/provider-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

interface Provider {
  readonly make: (options: ProviderOptions) => Model;
  readonly keyVariable: string;
}

export const PROVIDERS: ReadonlyMap<string, Provider> = new Map([
  ["anthropic", { make: anthropic, keyVariable: "ANTHROPIC_API_KEY" }],
  ["openai", { make: openai, keyVariable: "OPENAI_API_KEY" }],
  ["openai-chat", { make: openaiChat, keyVariable: "OPENAI_API_KEY" }],
  ["gemini", { make: gemini, keyVariable: "GEMINI_API_KEY" }],
]);

/** The model that `--model PROVIDER:NAME` names. Without its key there is a sentence that says what works without one. */
export function parseModel(text: string, options: Omit<ProviderOptions, "model">): Model {
  const colon = text.indexOf(":");
  const provider = PROVIDERS.get(text.slice(0, Math.max(0, colon)));
  const model = text.slice(colon + 1);
  if (!provider || model === "") {
    const forms = [...PROVIDERS.keys()].map((name) => `${name}:NAME`);
    throw optionError("--model", forms.join(", "), text);
  }
  const { make, keyVariable } = provider;
  if (!process.env[keyVariable])
    throw new Failure(
      EXIT.environment,
      `There is no key for ${text.slice(0, colon)}: set ${keyVariable}${options.baseUrl === undefined ? "" : ", to anything where the server asks for none"}. Without a key, make demo (portcullis demo) shows what programs do.`,
    );
  return make({ ...options, model });
}
