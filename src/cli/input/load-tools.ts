import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { describe } from "../../errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, reasonOf } from "../failure.ts";
import { guarded } from "../guarded.ts";

/** The tools that a module exports by default. Rejects with a `Failure` that names the module and what is wrong with it. */
export async function loadTools(path: string): Promise<readonly Tool[]> {
  const file = resolve(path);
  if (!existsSync(file)) throw new Failure(EXIT.usage, `--tools: there is no file ${path}.`);
  const exported = await importDefault(path, file);
  if (exported === undefined)
    throw new Failure(
      EXIT.usage,
      `--tools: ${path} has no default export. It must be an array of tools: export default [toolA, toolB].`,
    );
  if (!Array.isArray(exported))
    throw new Failure(
      EXIT.usage,
      `--tools: the default export of ${path} must be an array of tools, got ${describe(exported)}.`,
    );
  return exported as readonly Tool[];
}

async function importDefault(path: string, file: string): Promise<unknown> {
  const notLoaded = (reason: string, cause?: unknown) =>
    new Failure(EXIT.usage, `--tools: ${path} cannot be loaded: ${reason}`, { cause });
  return guarded(async () => {
    try {
      const loaded: unknown = await import(pathToFileURL(file).href);
      // Unhandled rejections of the module are reported within this tick.
      await setImmediate();
      return (loaded as { readonly default?: unknown }).default;
    } catch (cause) {
      throw notLoaded(reasonOf(cause), cause);
    }
  }, notLoaded);
}
