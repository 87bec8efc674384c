import { isModel } from "../../conversations/agent-options.ts";
import { describe, nearest, optionError, PortcullisError } from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
import type { ProviderOptions } from "../../models/provider/provider-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, UsageFailure } from "../failure.ts";
import { loadModule } from "./load-module.ts";
import { makeModel, PROVIDERS } from "../../models/provider/providers.ts";
import { oneLine } from "../terminal/one-line.ts";
import { MODEL_NAMES, readModelName } from "../../models/turn/index.ts";

/** Options of a provider's model, beside its name. */
export type ModelOptions = Omit<ProviderOptions, "model">;

/** The model that `--model`, or another `flag`, names: `PROVIDER:NAME`, or the path of a module whose default export is a model. */
export async function loadModel(text: string, options: ModelOptions, flag = "--model"): Promise<Model> {
  if (!/^[^:]*[/\\]|\.[cm]?[jt]s$/.test(text)) return parseModel(text, options, flag);
  const exported = await loadModule(flag, text, "a model, like those of portcullis/models");
  if (isModel(exported)) return exported;
  throw new UsageFailure(`${flag}: the default export of ${text} must be a model, got ${describe(exported)}.`);
}

/** The models that `--fallback` names, in their order. */
export function loadFallbacks(texts: readonly string[], options: ModelOptions): Promise<readonly Model[]> {
  return Promise.all(texts.map((text) => loadModel(text, options, "--fallback")));
}

/** The model that `--model PROVIDER:NAME`, or another `flag`, names. If its key is missing, the error names a command that needs no key. */
export function parseModel(text: string, options: ModelOptions, flag = "--model"): Model {
  const named = readModelName(text);
  if (!named) throw noModel(flag, text);
  const { provider, model } = named;
  const { name, keyVariable } = provider;
  if (!process.env[keyVariable])
    throw new Failure(
      EXIT.environment,
      `There is no key for ${name}: set ${keyVariable}${options.baseUrl === undefined ? "" : ", to any text if the server needs no key"}. portcullis demo runs without a key.`,
    );
  return makeModel(provider, { ...options, model });
}

/** The error about a text that names no model, with the provider that was probably meant. */
function noModel(flag: string, text: string): PortcullisError {
  const colon = text.indexOf(":");
  const [provider, model] = colon < 0 ? [text, "NAME"] : [text.slice(0, colon), text.slice(colon + 1) || "NAME"];
  const meant = PROVIDERS.has(provider) ? provider : nearest(provider, [...PROVIDERS.keys()], 1)[0];
  const expected = `${MODEL_NAMES}, or the path of a module whose default export is a model`;
  const { code, message } = optionError(flag, expected, text);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}:${oneLine(model)}?`;
  return new PortcullisError(code, `${message}${hint}`);
}

/** The model that a journal names. The name of a module's model does not say where the module is. */
export function recordedModel(name: string, options: ModelOptions): Model {
  try {
    // A journal may come from elsewhere: it may name a provider's model, but no file to be loaded.
    return parseModel(name, options);
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "option_invalid") throw error;
    throw new UsageFailure(
      `The conversation began with the model ${oneLine(name)}, which is none of a provider. Give the module that exports it with --model.`,
    );
  }
}
