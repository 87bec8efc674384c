import { isModel } from "../../agent/agent-options.ts";
import { describe } from "../../errors.ts";
import type { Model } from "../../models/model.ts";
import type { ProviderOptions } from "../../models/provider-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadModule } from "./load-module.ts";
import { parseModel } from "./parse-model.ts";

/** The model that `--model`, or another `flag`, names: `PROVIDER:NAME`, or the path of a module whose default export is a model. */
export async function loadModel(
  text: string,
  options: Omit<ProviderOptions, "model">,
  flag = "--model",
): Promise<Model> {
  if (!/^[^:]*[/\\]|\.[cm]?[jt]s$/.test(text)) return parseModel(text, options, flag);
  const exported = await loadModule(flag, text, "a model, like those of portcullis/models");
  if (isModel(exported)) return exported;
  throw new Failure(EXIT.usage, `${flag}: the default export of ${text} must be a model, got ${describe(exported)}.`);
}
