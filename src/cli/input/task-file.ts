import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, resolve } from "node:path";
import { checkTask, type ComparisonTask } from "../../comparison/task.ts";
import { PortcullisError, describe, optionError } from "../../errors.ts";
import type { Language } from "../../../bridge/frames.ts";
import { given } from "../../option-rules/given.ts";
import { checkOptions, refuseUnknownNames } from "../../option-rules/options.ts";
import { LIMIT_RULES, type LimitChanges } from "../../programs/limits.ts";
import { fieldOf, isFields, type Fields } from "../../values/fields.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadTools } from "./load-module.ts";
import { noFile } from "./no-file.ts";

export interface LoadedTask {
  readonly task: ComparisonTask;
  /** Changes to the limits that its program needs. */
  readonly limits: LimitChanges;
  /** The task with increasing numbers of rows. */
  readonly sweep: readonly { readonly rows: number; readonly task: ComparisonTask }[];
}

/** Fields of a task file, and of its `sweep`. `examples/README.md` describes them. */
const FIELDS = ["question", "program", "answer", "limits", "best", "sweep"];
const SWEEP_FIELDS = ["question", "program", "values", "answers"];
/** Largest task file or program, in bytes. */
const FILE_BYTES = 16 * 1024 * 1024;

/** Reads a task. Rejects with a `Failure` that names the file and what is wrong with it. */
export async function loadTask(path: string, language: Language = "javascript"): Promise<LoadedTask> {
  try {
    return await readTask(path, language);
  } catch (cause) {
    if (PortcullisError.is(cause)) throw new Failure(EXIT.usage, `--task: ${path}: ${cause.message}`);
    throw cause;
  }
}

async function readTask(path: string, language: Language): Promise<LoadedTask> {
  const file = resolve(path);
  const written = parse(path, textOf(file, path));
  if (!isFields(written))
    throw wrong(`expected an object with question, program and answer, got ${describe(written)}.`);
  refuseUnknownNames("task", written, FIELDS);
  const { question, program, answer, limits = {}, sweep } = written;
  const name = nameOf(file);
  const source = sourceOf(file, "program", program, language);
  const best = written.best === undefined ? undefined : await bestOf(file, asFields("task.best", written.best));
  const task = { name, question, program: source, answer, ...given({ best }) } as ComparisonTask;
  checkTask(task);
  const changes = checkOptions("task.limits", asFields("task.limits", limits), LIMIT_RULES);
  return {
    task,
    limits: changes,
    sweep: sweep === undefined ? [] : sweepOf(file, name, asFields("task.sweep", sweep), language),
  };
}

async function bestOf(file: string, best: Fields): Promise<Fields> {
  return { ...best, tools: await loadTools(besideFile(file, "best.tools", best.tools)) };
}

function sweepOf(file: string, name: string, sweep: Fields, language: Language): LoadedTask["sweep"] {
  refuseUnknownNames("task.sweep", sweep, SWEEP_FIELDS);
  const { question, values, answers = {} } = sweep;
  const answerOf = asFields("task.sweep.answers", answers);
  const program = sourceOf(file, "sweep.program", sweep.program, language);
  if (typeof question !== "string" || !Array.isArray(values) || !values.every(isRows))
    throw wrong("sweep needs a question, a program, and values: whole numbers from 1.");
  return values.map((rows) => {
    const fill = (text: string) => text.replaceAll("{{n}}", String(rows));
    const answer = fieldOf(answerOf, String(rows));
    const task = { name: `${name}, ${rows} rows`, question: fill(question), program: fill(program), answer };
    checkTask(task);
    return { rows, task };
  });
}

function isRows(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function wrong(what: string): PortcullisError {
  return new PortcullisError("option_invalid", what);
}

function asFields(field: string, value: unknown): Fields {
  if (!isFields(value)) throw optionError(field, "an object", value);
  return value;
}

/** The name of a task: the folder's name for `task.json`, else the file's name without its extension. */
function nameOf(file: string): string {
  const own = basename(file, extname(file));
  return own === "task" ? basename(dirname(file)) : own;
}

/** Text of a regular file. A directory has no text, and reading a device may never end. */
function textOf(file: string, named: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) throw wrong(noFile(named));
  if (!found.isFile()) throw wrong(`${named} is not a regular file. Name one.`);
  if (found.size > FILE_BYTES)
    throw wrong(`${named} has ${found.size} bytes, at most ${FILE_BYTES} are allowed. Let the tools read the data.`);
  return readFileSync(file, "utf8").replace(/^\ufeff/, "");
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Failure(EXIT.usage, `--task: ${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Source of a program that the task names. The program in Python has the same name with the extension `.py`. */
function sourceOf(file: string, field: string, program: unknown, language: Language): string {
  if (language === "javascript" && typeof program === "string" && program.endsWith(".py"))
    throw wrong(
      `${field}: ${program} is Python: add --language python --sandbox docker, or write the program in JavaScript.`,
    );
  const named = language === "python" && typeof program === "string" ? program.replace(/\.[jt]s$/, ".py") : program;
  return textOf(besideFile(file, field, named), String(named));
}

/** Path of a file that the task names. The published package has JavaScript in place of TypeScript, so `.js` replaces `.ts` if needed. */
function besideFile(file: string, field: string, named: unknown): string {
  if (typeof named !== "string" || named === "")
    throw wrong(`${field}: expected the path of a file, got ${describe(named)}.`);
  const beside = resolve(dirname(file), named);
  const found = [beside, beside.replace(/\.ts$/, ".js")].find((one) => existsSync(one));
  if (found === undefined) throw wrong(`${field}: there is no file ${named}.`);
  return found;
}
