import { readFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { PortcullisError } from "../../../errors.ts";
import { readJsonFile } from "../../../sources/json-file.ts";
import { type Fields, isFields, textOf } from "../../../values/fields.ts";

/** What a project's tsconfig.json lacks, so that tsc checks the files of `init` and finds nothing wrong. */
export interface Lack {
  /** As it is written into the file. */
  readonly add: string;
  readonly why: string;
}

/** How many files may extend each other. */
const LEVELS = 10;
/** The first version that finds the exports of packages whatever `module` says. */
const FINDS_EXPORTS = 6;
const WITH_EXPORTS = /^(?:node16|node18|node20|nodenext|bundler|preserve)$/;

/** The lacks of `tsconfig.json` in this folder; none if it cannot be read, which tsc itself says. */
export async function lacksOf(folder: string): Promise<readonly Lack[]> {
  const config = await configOf(resolve(folder, "tsconfig.json"), LEVELS);
  if (!config) return [];
  if (!includesTools(config))
    return [{ add: '"tools.ts" in "include", and no other "rootDir"', why: "or tsc does not look at it" }];
  const { types, skipLibCheck, allowJs, checkJs } = config.options;
  const hasNode = Array.isArray(types) && types.some((name) => name === "node" || name === "*");
  return [
    ...(hasNode || skipLibCheck === true
      ? []
      : [{ add: '"types": ["node"] in "compilerOptions"', why: "the package's types refer to those of node" }]),
    ...(findsExports(folder, config.options)
      ? []
      : [{ add: '"module": "nodenext" in "compilerOptions"', why: "or tsc does not find the package's types" }]),
    ...((allowJs === true || checkJs === true) && !config.leftOut.includes("program.js")
      ? [{ add: '"exclude": ["program.js"]', why: "a program is no module: its tools come from the sandbox" }]
      : []),
  ];
}

interface Config {
  readonly options: Fields;
  /** Patterns of the files that it is about; undefined for all. */
  readonly files: readonly string[] | undefined;
  readonly leftOut: readonly string[];
}

/** A file with those that it extends; undefined if it cannot be read. */
async function configOf(file: string, levels: number): Promise<Config | undefined> {
  const own = await fieldsIn(file);
  if (!own) return undefined;
  const bases: Fields[] = [];
  for (const base of [own.extends].flat()) {
    const path = typeof base === "string" && levels > 0 ? pathOf(file, base) : undefined;
    const read = path === undefined ? undefined : await configOf(path, levels - 1);
    if (read) bases.push(read.options);
  }
  const { include, files, exclude, compilerOptions } = own;
  const named = [textsOf(include), textsOf(files)].filter((list) => list !== undefined);
  return {
    options: Object.assign({}, ...bases, isFields(compilerOptions) ? compilerOptions : {}) as Fields,
    files: named.length === 0 ? undefined : named.flat(),
    leftOut: textsOf(exclude) ?? [],
  };
}

async function fieldsIn(file: string): Promise<Fields | undefined> {
  try {
    const value = await readJsonFile(file);
    return isFields(value) ? value : undefined;
  } catch (error) {
    if (PortcullisError.is(error)) return undefined;
    throw error;
  }
}

/** Where a file is that another one extends: beside it, or in a package. */
function pathOf(file: string, base: string): string | undefined {
  const path = base.endsWith(".json") ? base : `${base}.json`;
  if (/^\.{0,2}\//.test(base)) return resolve(dirname(file), path);
  const { resolve: find } = createRequire(file);
  for (const one of [base, path, `${base}/tsconfig.json`])
    try {
      return find(one);
    } catch {
      // The next form may be the right one. If none is, tsc says that the file is missing.
    }
  return undefined;
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;
}

/** Whether the file is about `tools.ts` in its folder: no pattern is for another folder alone. */
function includesTools({ files, options, leftOut }: Config): boolean {
  const { rootDir = "." } = options;
  if (typeof rootDir === "string" && !/^\.?\/?$/.test(rootDir)) return false;
  const isMeant = (pattern: string) => {
    const [first = ""] = pattern.replace(/^\.\//, "").split("/");
    return first === "." || first === "tools.ts" || first.includes("*") || first.includes("?");
  };
  return !leftOut.includes("tools.ts") && (files === undefined || files.some(isMeant));
}

/** Whether tsc looks for the types of a package where its `exports` say. */
function findsExports(folder: string, { module, moduleResolution }: Fields): boolean {
  if (typeof moduleResolution === "string") return WITH_EXPORTS.test(moduleResolution.toLowerCase());
  if (typeof module === "string" && WITH_EXPORTS.test(module.toLowerCase())) return true;
  return installedMajor(folder) >= FINDS_EXPORTS;
}

/** The version of TypeScript in this folder; the newest if `init` has it installed. */
function installedMajor(folder: string): number {
  try {
    const found = findPackageJSON("typescript", pathToFileURL(join(resolve(folder), "tools.ts")));
    const version = found === undefined ? undefined : textOf(JSON.parse(readFileSync(found, "utf8")), "version");
    return Number.parseInt(version ?? "", 10) || Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
