import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, resolve } from "node:path";
import { checkTask, type ComparisonTask, type PlannedCall } from "../../comparison/comparison-task.ts";
import { PortcullisError, describe, optionError } from "../../errors.ts";
import type { Language } from "../../../bridge/frames.ts";
import { refuseUnknownNames } from "../../option-rules/options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadTools } from "./load-module.ts";

/** A task file. `examples/README.md` describes every field. */
interface TaskFile {
  readonly question?: unknown;
  /** Path, relative to the task file. */
  readonly program?: unknown;
  readonly answer?: unknown;
  readonly direct?: ComparisonTask["direct"];
  readonly best?: { readonly tools?: unknown; readonly calls: readonly (readonly PlannedCall[])[] };
  readonly sweep?: {
    readonly question?: unknown;
    readonly program?: unknown;
    readonly values?: unknown;
    readonly answers?: Readonly<Record<string, unknown>>;
  };
}

export interface LoadedTask {
  readonly task: ComparisonTask;
  /** The task with increasing numbers of rows. */
  readonly sweep: readonly { readonly rows: number; readonly task: ComparisonTask }[];
}

const FIELDS = ["question", "program", "answer", "direct", "best", "sweep"];
const SWEEP_FIELDS = ["question", "program", "values", "answers"];
/** Largest task file or program, in bytes. */
const FILE_BYTES = 16 * 1024 * 1024;

/** Reads a task. Rejects with a `Failure` that names the file and what is wrong with it. */
export async function loadTask(path: string, language: Language = "javascript"): Promise<LoadedTask> {
  const file = resolve(path);
  const written = parse(path, read(path, file, path)) as TaskFile;
  const wrong = (what: string) => new Failure(EXIT.usage, `--task: ${path}: ${what}`);
  if (typeof written !== "object" || written === null || Array.isArray(written))
    throw wrong(`expected an object with question, program and answer, got ${describe(written)}.`);
  const name = nameOf(file);
  try {
    refuseUnknownNames("task", written, FIELDS);
    const { question, program, answer, direct, best, sweep } = written;
    const task: ComparisonTask = {
      name,
      question: question as string,
      program: readProgramOf(path, file, "program", program, language),
      answer,
      ...(direct === undefined ? {} : { direct }),
      ...(best === undefined
        ? {}
        : {
            best: {
              ...asFields("task.best", best),
              tools: await loadTools(besideFile(path, file, "best.tools", asFields("task.best", best).tools)),
            } as NonNullable<ComparisonTask["best"]>,
          }),
    };
    checkTask(task);
    if (sweep === undefined) return { task, sweep: [] };
    refuseUnknownNames("task.sweep", asFields("task.sweep", sweep), SWEEP_FIELDS);
    return { task, sweep: sweepOf(path, file, name, sweep, language) };
  } catch (cause) {
    if (PortcullisError.is(cause)) throw wrong(cause.message);
    throw cause;
  }
}

function sweepOf(
  path: string,
  file: string,
  name: string,
  sweep: NonNullable<TaskFile["sweep"]>,
  language: Language,
): LoadedTask["sweep"] {
  const { question, values } = sweep;
  const answers = sweep.answers === undefined ? {} : asFields("task.sweep.answers", sweep.answers);
  const program = readProgramOf(path, file, "sweep.program", sweep.program, language);
  const isRows = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0;
  if (typeof question !== "string" || !Array.isArray(values) || !values.every(isRows))
    throw new Failure(
      EXIT.usage,
      `--task: ${path}: sweep needs a question, a program, and values: whole numbers from 1.`,
    );
  return (values as number[]).map((rows) => {
    const fill = (text: string) => text.replaceAll("{{n}}", String(rows));
    const answer = Object.hasOwn(answers, String(rows)) ? answers[String(rows)] : undefined;
    const task = { name: `${name}, ${rows} rows`, question: fill(question), program: fill(program), answer };
    checkTask(task);
    return { rows, task };
  });
}

function asFields(field: string, value: object): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw optionError(field, "an object", value);
  return value as Readonly<Record<string, unknown>>;
}

/** The name of a task: the folder's name for `task.json`, else the file's name without its extension. */
function nameOf(file: string): string {
  const own = basename(file, extname(file));
  return own === "task" ? basename(dirname(file)) : own;
}

/** Text of a regular file. A directory has no text, and reading a device may never end. */
function read(path: string, file: string, named: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  const wrong = (what: string) => new Failure(EXIT.usage, `--task: ${path}: ${what}`);
  if (!found) throw wrong(`there is no file ${named}.`);
  if (!found.isFile()) throw wrong(`${named} is not a regular file. Name one.`);
  if (found.size > FILE_BYTES)
    throw wrong(`${named} has ${found.size} bytes, at most ${FILE_BYTES} are allowed. Let the tools read the data.`);
  return readFileSync(file, "utf8");
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Failure(EXIT.usage, `--task: ${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Source of a program that the task names. The program in Python has the same name with the extension `.py`. */
function readProgramOf(path: string, file: string, field: string, program: unknown, language: Language): string {
  if (language === "javascript" && typeof program === "string" && program.endsWith(".py"))
    throw new Failure(
      EXIT.usage,
      `--task: ${path}: ${field}: ${program} is Python: add --language python --sandbox docker, or write the program in JavaScript.`,
    );
  const named = language === "python" && typeof program === "string" ? program.replace(/\.[jt]s$/, ".py") : program;
  return read(path, besideFile(path, file, field, named), String(named));
}

/** Path of a file that the task names. The published package has JavaScript in place of TypeScript, so `.js` replaces `.ts` where needed. */
function besideFile(path: string, file: string, field: string, named: unknown): string {
  if (typeof named !== "string" || named === "")
    throw new Failure(EXIT.usage, `--task: ${path}: ${field}: expected the path of a file, got ${describe(named)}.`);
  const beside = resolve(dirname(file), named);
  const found = [beside, beside.replace(/\.ts$/, ".js")].find((one) => existsSync(one));
  if (found === undefined) throw new Failure(EXIT.usage, `--task: ${path}: ${field}: there is no file ${named}.`);
  return found;
}
