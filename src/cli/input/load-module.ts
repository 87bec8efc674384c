import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { nextTurn } from "../../clock.ts";
import { keepStdout } from "../terminal/standard-streams.ts";
import { EXIT } from "../exit-code.ts";
import { causeOf, Failure, reasonOf } from "../failure.ts";
import { guarded } from "../guarded.ts";
import { describe } from "../../errors.ts";
import { noFile } from "./no-file.ts";
import type { Tool } from "../../tools/tool.ts";

/**
 * What a module exports by default. `option` is what named it, like `--tools`, and `wanted` what it must export, like
 * `an array of tools: export default [toolA, toolB]`. Rejects with a `Failure` that names the module and what is wrong
 * with it.
 */
export async function loadModule(option: string, path: string, wanted: string): Promise<unknown> {
  const file = resolve(path);
  const found = lookUp(option, path);
  if (!found) throw new Failure(EXIT.usage, `${option}: ${noFile(path)}`);
  if (found.isDirectory()) throw new Failure(EXIT.usage, `${option}: ${path} is a folder. Name the file of a module.`);
  keepStdout();
  const notLoaded = (reason: string, cause?: unknown) =>
    new Failure(EXIT.usage, `${option}: ${path} cannot be loaded: ${reason}`, { cause, details: whereOf(cause, file) });
  const exported = await guarded(async () => {
    try {
      const loaded: unknown = await import(pathToFileURL(file).href);
      // Unhandled rejections of the module are reported within this tick.
      await nextTurn();
      return (loaded as { readonly default?: unknown }).default;
    } catch (cause) {
      throw notLoaded(reasonOf(cause), cause);
    }
  }, notLoaded);
  if (exported === undefined)
    throw new Failure(EXIT.usage, `${option}: ${path} has no default export. It must be ${wanted}.`);
  return exported;
}

function lookUp(option: string, path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new Failure(EXIT.usage, `${option}: ${path} cannot be looked up: ${causeOf(error)}.`);
  }
}

/** Maximum number of stack lines that are printed, and of causes. */
const STACK_LINES = 40;
const CAUSES = 5;

/** Files, lines and stacks of an error that a module threw while it was loaded, and of its causes; empty if it has none. */
function whereOf(cause: unknown, file: string): string {
  try {
    const stacks: string[] = [];
    for (let one = cause; one instanceof Error && stacks.length < CAUSES; one = one.cause)
      stacks.push(`${stacks.length === 0 ? "" : "Caused by "}${ownStack(one)}`);
    const [first = ""] = stacks;
    if (cause instanceof SyntaxError && first.startsWith("SyntaxError")) return positionIn(file);
    // Without a frame, the stack is the message, which the failure tells.
    if (stacks.length === 1 && !first.includes("\n    at ")) return "";
    const lines = stacks.join("\n").split("\n");
    const left = lines.length - STACK_LINES;
    return [...lines.slice(0, STACK_LINES), ...(left > 0 ? [`… ${left} more lines`] : [])].join("\n");
  } catch {
    // The getters of the error may throw.
    return "";
  }
}

/** A frame of this file, built or not, or as a source map names it. */
const OWN_FRAME = /\/src\/(?:cli\/input\/load-module\.ts|load-module-[\w-]{8}\.js):/;

/** The module's own part of a stack: the frames of node, and those from this file down, say nothing about the module. */
function ownStack({ stack }: { readonly stack?: unknown }): string {
  // Code of the module may have put anything there.
  const lines = (typeof stack === "string" ? stack : "").split("\n");
  const here = lines.findIndex((line) => line.startsWith("    at ") && OWN_FRAME.test(line));
  return lines
    .slice(0, here < 0 ? undefined : here)
    .filter((line) => !(line.startsWith("    at ") && line.includes("node:")))
    .join("\n");
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
    throw new Failure(
      EXIT.usage,
      `--tools: the default export of ${path} must be an array of tools, got ${describe(exported)}.`,
    );
  return exported as readonly Tool[];
}
