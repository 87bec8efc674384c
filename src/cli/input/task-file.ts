import { basename, dirname, extname, resolve } from "node:path";
import { type ComparisonTask, TASK_RULES } from "../../comparison/task.ts";
import { checkOptions, fieldsOf, object, pick, PortcullisError, required, words } from "../../base/index.ts";
import { LIMIT_RULES, type LimitChanges } from "../../executions/limits.ts";
import { readFileText, readJsonFile } from "../../sources/json-file.ts";
import { UsageFailure } from "../failure.ts";

export interface LoadedTask {
  readonly task: ComparisonTask;
  /** Changes to the limits that its program needs. */
  readonly limits: LimitChanges;
}

/** Fields of a task file. `examples/README.md` describes them. */
const FILE_RULES = {
  ...pick(TASK_RULES, "question", "answer"),
  program: required(words("the path of the program, from the folder of this file")),
  limits: object<object>("an object of limits"),
};
/** Largest program, in bytes. */
const PROGRAM_BYTES = 16 * 1024 * 1024;

/** Reads a task. Rejects with a `Failure` that names the file and what is wrong with it. */
export async function loadTask(path: string): Promise<LoadedTask> {
  try {
    const { program, limits = {}, ...asked } = checkOptions(fieldsOf("task"), await readJsonFile(path), FILE_RULES);
    const file = resolve(path);
    const source = await readFileText("task.program", resolve(dirname(file), program), PROGRAM_BYTES);
    const own = basename(file, extname(file));
    return {
      task: { name: own === "task" ? basename(dirname(file)) : own, program: source.replace(/^\ufeff/, ""), ...asked },
      limits: checkOptions(fieldsOf("task.limits"), limits, LIMIT_RULES),
    };
  } catch (cause) {
    if (PortcullisError.is(cause)) throw new UsageFailure(`--task: ${path}: ${cause.message}`);
    throw cause;
  }
}
