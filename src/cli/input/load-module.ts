import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, nextTurn } from "../../base/index.ts";
import { keepStdout } from "../terminal/standard-streams.ts";
import { causeOf, reasonOf, UsageFailure } from "../failure.ts";
import { guardWork } from "../guarded.ts";
import { thrownText } from "../../executions/output/index.ts";
import { noFile } from "./option-files.ts";
import type { Tool } from "../../tools/tool.ts";

/**
 * What a module exports by default. `option` is what named it, like `--tools`, and `wanted` what it must export, like
 * `an array of tools: export default [toolA, toolB]`. Rejects with a `Failure` that names the module and what is wrong
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
      throw notLoaded(reasonOf(cause), cause);
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
  const left = lines.length - LINES;
  return [...lines.slice(0, LINES), ...(left > 0 ? [`… ${left} more lines`] : [])].join("\n");
}

/**
 * The place at which the module does not parse: the SyntaxError lacks it, and node prints it when it checks the file.
 */
function positionIn(file: string): string {
  const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8", timeout: 10_000 });
  const [position = ""] = stderr.split("\n\n");
  return position.trim() === "" ? "The syntax error is in a module that this one imports." : position;
}

/** The tools that a module exports by default. Rejects with a `Failure` that names the module and what is wrong with it. */
export async function loadTools(path: string): Promise<readonly Tool[]> {
  const exported = await loadModule("--tools", path, "an array of tools: export default [toolA, toolB]");
  if (!Array.isArray(exported))
    throw new UsageFailure(
      `--tools: the default export of ${path} must be an array of tools, got ${describe(exported)}.`,
    );
  return exported as readonly Tool[];
}
