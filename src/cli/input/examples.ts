import { existsSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { EXIT, CommandFailure, UsageFailure } from "../failure.ts";
import type { Tool } from "../../tools/tool.ts";
import { devDependencies } from "../package-json.ts";
import { loadTools } from "./load-module.ts";
import { basename, dirname, extname, resolve } from "node:path";
import { type ComparisonTask, TASK_RULES } from "../../comparison/task.ts";
import { checkOptions, fieldsOf, object, pick, PortcullisError, required, words } from "../../base/index.ts";
import { LIMIT_RULES, type LimitChanges } from "../../executions/limits.ts";
import { readFileText, readJsonFile } from "../../sources/json-file.ts";

const folder = fileURLToPath(new URL("../../../examples/", import.meta.url));

/** The examples that have a task with one answer, so that they can be measured. Small ones first. */
export const EXAMPLES = [
  "capital",
  "airports",
  "hops",
  "movies",
  "flights",
  "speeches",
  "subgrid",
  "licenses",
  "operations",
] as const;
/** With those that are run only if they are named, because they take minutes. */
export const TASKS = [...EXAMPLES, "streams"] as const;
export type TaskName = (typeof TASKS)[number];

/** The examples that `demo` runs if none is named. */
export const DEFAULT_DEMOS = ["flights", "licenses"] as const satisfies readonly TaskName[];

/** Examples that `demo` runs and nothing measures, because their tools are other processes; with the packages that they need. */
const SHOWN = {
  "mcp-join": [
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
  ],
  "github-openapi": ["openapi-fetch"],
} as const satisfies Record<string, readonly string[]>;
const NEEDED: Readonly<Record<string, readonly string[]>> = SHOWN;

export type DemoName = TaskName | keyof typeof SHOWN;
export const DEMOS = [...TASKS, ...Object.keys(SHOWN)] as readonly DemoName[];

/** Examples that are played in place of a task. */
export const SCENES = ["refunds", "desk", "read-file", "team", "code"] as const;
export type SceneName = (typeof SCENES)[number];

export function isScene(name: string): name is SceneName {
  return SCENES.some((scene) => scene === name);
}

/** A module of an example: the TypeScript source or the published JavaScript. */
export function exampleModule(name: DemoName | SceneName, module: string): string {
  const source = `${folder}${name}/${module}.ts`;
  return existsSync(source) ? source : source.replace(/ts$/, "js");
}

export function exampleFile(name: DemoName, file: string): string {
  return `${folder}${name}/${file}`;
}

export function exampleTools(name: DemoName): Promise<readonly Tool[]> {
  return loadTools(exampleModule(name, "tools"));
}

/** Data that is too large for the published package: a clone of the sources has it. */
const LARGE_DATA: Readonly<Record<string, string>> = {
  speeches: "speeches/speeches.json.br",
  operations: "operations/api.github.com.json.br",
  "github-openapi": "operations/api.github.com.json.br",
};

/** Throws a `CommandFailure` if the data of some of these examples is not there. */
export function requireData(names: readonly DemoName[]): void {
  const lacking = names.filter((name) => !existsSync(folder + (LARGE_DATA[name] ?? "")));
  if (lacking.length > 0)
    throw new CommandFailure(
      EXIT.environment,
      `${lacking.join(", ")}: the data is too large for this package. Run it in a clone of the sources, or name other examples.`,
    );
}

const missing = (name: DemoName) => (NEEDED[name] ?? []).filter((one) => !isInstalled(one));

/** Throws a `CommandFailure` with the command that installs what these examples need, if some of it is missing. */
export function requirePackages(names: readonly DemoName[]): void {
  const packages = [...new Set(names.flatMap(missing))].map((name) => `${name}@${devDependencies[name]}`);
  if (packages.length === 0) return;
  const needy = names.filter((name) => missing(name).length > 0);
  // A clone has them in its lock.
  const command = import.meta.url.endsWith(".ts") ? "make packages" : `npm install ${packages.join(" ")}`;
  throw new CommandFailure(
    EXIT.environment,
    `${needy.join(", ")}: what it needs is not part of this package: ${command}`,
  );
}

function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, pathToFileURL(folder)) !== undefined;
  } catch {
    return false;
  }
}

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

/** Reads a task. Rejects with a `CommandFailure` that names the file and what is wrong with it. */
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
