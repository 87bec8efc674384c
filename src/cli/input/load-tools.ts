import { describe } from "../../errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadModule } from "./load-module.ts";

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
