import { optionError } from "../../errors.ts";
import type { Model } from "../../models/model.ts";
import { makeModel } from "../../models/provider.ts";
import type { ProviderOptions } from "../../models/provider-options.ts";
import { PROVIDERS } from "../../models/providers.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** The model that `--model PROVIDER:NAME`, or another `flag`, names. Where its key is missing, the error names a command that needs none. */
export function parseModel(text: string, options: Omit<ProviderOptions, "model">, flag = "--model"): Model {
  const colon = text.indexOf(":");
  const provider = PROVIDERS.get(text.slice(0, Math.max(0, colon)));
  const model = text.slice(colon + 1);
  if (!provider || model === "") {
    const forms = [...PROVIDERS.keys()].map((name) => `${name}:NAME`);
    throw optionError(flag, forms.join(", "), text);
  }
  const { name, keyVariable } = provider;
  if (!process.env[keyVariable])
    throw new Failure(
      EXIT.environment,
      `There is no key for ${name}: set ${keyVariable}${options.baseUrl === undefined ? "" : ", to any text where the server needs no key"}. portcullis demo (make demo) runs without a key.`,
    );
  return makeModel(provider, { ...options, model });
}
