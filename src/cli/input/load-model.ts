import { isModel } from "../../agent/agent-options.ts";
import { describe } from "../../errors.ts";
import type { Model } from "../../models/model.ts";
import type { ProviderOptions } from "../../models/provider-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadModule } from "./load-module.ts";
import { parseModel } from "./parse-model.ts";

/** The model that `--model` names: `PROVIDER:NAME`, or the path of a module whose default export is a model. */
export async function loadModel(text: string, options: Omit<ProviderOptions, "model">): Promise<Model> {
  if (!/^[^:]*[/\\]|\.[cm]?[jt]s$/.test(text)) return parseModel(text, options);
  const exported = await loadModule("--model", text, "a model, like those of portcullis/models");
  if (isModel(exported)) return exported;
  throw new Failure(EXIT.usage, `--model: the default export of ${text} must be a model, got ${describe(exported)}.`);
}
