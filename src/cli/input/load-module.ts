import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, nearest, nextTurn, optionError, PortcullisError, hasCode } from "../../base/index.ts";
import { keepStdout, oneLine } from "../terminal/standard-streams.ts";
import { causeOf, failureLine, UsageFailure, guardWork, EXIT, CommandFailure } from "../failure.ts";
import { thrownText } from "../../executions/output/index.ts";
import { noFile } from "./option-values.ts";
import type { Tool } from "../../tools/tool.ts";
import { isModel } from "../../conversations/agent-options.ts";
import type { Model } from "../../models/model.ts";
import type { ProviderOptions } from "../../models/provider/provider-options.ts";
import { makeModel, PROVIDERS } from "../../models/provider/providers.ts";
import { MODEL_NAMES, readModelName } from "../../models/turn/index.ts";

/**
 * What a module exports by default. `option` is what named it, like `--tools`, and `wanted` what it must export, like
 * `an array of tools: export default [toolA, toolB]`. Rejects with a `CommandFailure` that names the module and what is wrong
 * with it.
 */
export async function loadModule(option: string, path: string, wanted: string): Promise<unknown> {
  const file = resolve(path);
  const found = lookUp(option, path);
  if (!found) throw new UsageFailure(`${option}: ${noFile(path)}`);
  if (found.isDirectory()) throw new UsageFailure(`${option}: ${path} is a folder. Name the file of a module.`);
  keepStdout();
  const notLoaded = (reason: string, cause?: unknown) =>
    new UsageFailure(`${option}: ${path} cannot be loaded: ${reason}`, { cause, details: whereOf(cause, file) });
  const exported = await guardWork(async () => {
    try {
      const loaded: unknown = await import(pathToFileURL(file).href);
      // Unhandled rejections of the module are reported within this tick.
      await nextTurn();
      return (loaded as { readonly default?: unknown }).default;
    } catch (cause) {
      throw notLoaded(failureLine(cause), cause);
    }
  }, notLoaded);
  if (exported === undefined) throw new UsageFailure(`${option}: ${path} has no default export. It must be ${wanted}.`);
  return exported;
}

function lookUp(option: string, path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new UsageFailure(`${option}: ${path} cannot be looked up: ${causeOf(error)}.`);
  }
}

/** Maximum number of lines that are printed of an error and its causes. */
const LINES = 40;
/** A frame of this file, built or not, or as a source map names it; or the line that node has for frames that a cause shows too. */
const OWN_FRAME =
  /\/src\/(?:cli\/input\/load-module\.ts|load-module-[\w-]{8}\.js):|^ {1,40}\.\.\. \d{1,9} lines matching/;

/** Files, lines and stacks of an error that a module threw while it was loaded, and of its causes; empty if it has none. */
function whereOf(cause: unknown, file: string): string {
  const text = thrownText(cause);
  if (cause instanceof SyntaxError && text.startsWith("SyntaxError")) return positionIn(file);
  // The frames of node, and those from this file down, say nothing about the module.
  let isBelow = false;
  const lines = text.split("\n").filter((line) => {
    const isFrame = /^ {1,40}(?:at|\.\.\.) /.test(line);
    isBelow = isFrame && (isBelow || OWN_FRAME.test(line));
    return !isBelow && !(isFrame && line.includes("node:"));
  });
  // Without a frame, the text is the message, which the failure tells.
  if (!lines.some((line) => /^ {1,40}at /.test(line))) return "";
  const remaining = lines.length - LINES;
  return [...lines.slice(0, LINES), ...(remaining > 0 ? [`… ${remaining} more lines`] : [])].join("\n");
}

/**
 * The place at which the module does not parse: the SyntaxError lacks it, and node prints it when it checks the file.
 */
function positionIn(file: string): string {
  const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8", timeout: 10_000 });
  const position = stderr.split("\n\n")[0]!;
  return position.trim() === "" ? "The syntax error is in a module that this one imports." : position;
}

/** The tools that a module exports by default. Rejects with a `CommandFailure` that names the module and what is wrong with it. */
export async function loadTools(path: string): Promise<readonly Tool[]> {
  const exported = await loadModule("--tools", path, "an array of tools: export default [toolA, toolB]");
  if (!Array.isArray(exported))
    throw new UsageFailure(
      `--tools: the default export of ${path} must be an array of tools, got ${describe(exported)}.`,
    );
  return exported as readonly Tool[];
}

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
    throw new CommandFailure(
      EXIT.environment,
      `There is no key for ${name}: set ${keyVariable}${options.baseUrl === undefined ? "" : ", to any text if the server needs no key"}. portcullis demo runs without a key.`,
    );
  return makeModel(provider, { ...options, model });
}

/** The error about a text that names no model, with the provider that was probably meant. */
function noModel(flag: string, text: string): PortcullisError {
  const expected = `${MODEL_NAMES}, or the path of a module whose default export is a model`;
  const { code, message } = optionError(flag, expected, text);
  const [provider, ...rest] = text.split(":") as [string, ...string[]];
  const [meant] = PROVIDERS.has(provider) ? [provider] : nearest(provider, [...PROVIDERS.keys()], 1);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}:${oneLine(rest.join(":")) || "NAME"}?`;
  return new PortcullisError(code, `${message}${hint}`);
}

/** The model that a journal names. The name of a module's model does not say where the module is. */
export function recordedModel(name: string, options: ModelOptions): Model {
  try {
    // A journal may come from elsewhere: it may name a provider's model, but no file to be loaded.
    return parseModel(name, options);
  } catch (error) {
    if (!hasCode(error, "option_invalid")) throw error;
    throw new UsageFailure(
      `The conversation began with the model ${oneLine(name)}, which is none of a provider. Give the module that exports it with --model.`,
    );
  }
}
