import type { Tool } from "../../tools/tool.ts";
import { EXAMPLES, TASKS, exampleFile, exampleTools, requireData } from "./examples.ts";
import type { CommandOptions, BENCH } from "../command-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { word } from "./option-values.ts";
import { loadTools } from "./load-module.ts";
import { loadTask, type LoadedTask } from "./task-file.ts";

/** A task to measure, and its tools. */
export interface Job {
  readonly loaded: LoadedTask;
  readonly tools: () => Promise<readonly Tool[]>;
}

/** The tasks to measure: the package's tasks by name (all but the large ones if none is named), or the user's own task. */
export async function jobsOf(
  names: readonly string[],
  { tools, task, language }: CommandOptions<typeof BENCH>,
): Promise<readonly Job[]> {
  if (task !== undefined && names.length > 0) throw new Failure(EXIT.usage, "Name tasks, or pass --task, not both.");
  const named = task?.split(",") ?? names;
  const areOpen = named.length > 0 && named.every((name) => TASKS.some((one) => one === name));
  if (task !== undefined && tools !== undefined)
    return [{ loaded: await loadTask(task, language), tools: () => loadTools(tools) }];
  if (task !== undefined && !areOpen)
    throw new Failure(EXIT.usage, "--task needs --tools: the module with the task's tools.");
  if (tools !== undefined)
    throw new Failure(EXIT.usage, "--tools needs --task: the package's tasks have their own tools.");
  const chosen = named.length > 0 ? named.map((name) => word(TASKS)("bench", name)) : EXAMPLES;
  requireData(chosen);
  return Promise.all(
    chosen.map(async (name) => ({
      loaded: await loadTask(exampleFile(name, "task.json"), language),
      tools: () => exampleTools(name),
    })),
  );
}
