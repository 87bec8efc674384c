import { execFile, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import integrations from "../integrations/package.json" with { type: "json" };
import { makeClone } from "../support/make-clone.ts";
import { blocks, packagesOf, DOCUMENTS } from "../support/snippets.ts";

/*
 * The package as its users have it: packed once from a clone, and installed once into a folder outside of it. What is tested
 * runs in projects made of that installation, each with the packages that its document tells to install and no others.
 */

const NAME = "portcullis";
const VERSIONS: Readonly<Record<string, string>> = {
  ...packageJson.dependencies,
  zod: packageJson.peerDependencies.zod,
  ...packageJson.devDependencies,
  ...integrations.devDependencies,
};
/** Bought by no document: the types of node, without which nothing type-checks. */
const TYPES = "@types/node";

export const withVersion = (name: string) => `${name}@${VERSIONS[name]}`;

/** The line of the README that packs and installs the package. */
export const INSTALLATION =
  blocks
    .filter(({ document, language }) => document === "README.md" && language === "sh")
    .map(({ text }) => text.trim())
    .find((text) => text.startsWith("npm pack")) ?? "";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  more: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const options = { cwd, env: environment(more), maxBuffer: 64 * 1024 * 1024 };
  try {
    return { code: 0, ...(await promisify(execFile)(command, args, options)) };
  } catch (error) {
    const { code, stdout = "", stderr = String(error) } = error as Partial<Ran>;
    return { code: code ?? 1, stdout, stderr };
  }
}

/** Standard output of a command that succeeds. Throws what it wrote where it fails. */
export async function succeed(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, cwd);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Starts a command that stays, and resolves with what it has said once that matches. */
export async function start(
  command: string,
  args: readonly string[],
  cwd: string,
  ready: RegExp,
): Promise<AsyncDisposable & { readonly said: string }> {
  const child = spawn(command, args, { cwd, env: environment({}), stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      said += String(chunk);
      if (ready.test(said)) resolve();
    });
    void ended.then(() => reject(new Error(`${args.join(" ")} ended: ${said}`)));
  });
  return {
    said,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

export function environment(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...env } = process.env;
  return { ...env, PATH: [dirname(process.execPath), env["PATH"]].join(delimiter), ...more };
}

/** The installed package, and a project that has it. */
export class Installed implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "portcullis-package-"));
  /** A project with what the README's line installs, and nothing else. */
  readonly bare = join(this.folder, "bare");
  /** Everything that some document tells to install. */
  readonly #all = join(this.folder, "all", "node_modules");
  /** What the last project has of it. */
  #lent: { readonly to: string; readonly names: readonly string[] } = { to: "", names: [] };

  [Symbol.dispose](): void {
    // A program of a test may write its compile cache until it has ended.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async install(): Promise<void> {
    makeClone(join(this.folder, NAME));
    newProject(this.bare);
    await succeed("sh", ["-ec", INSTALLATION], this.bare);
    const further = [...new Set([TYPES, ...DOCUMENTS.flatMap(packagesOf)])].map(withVersion);
    const all = dirname(this.#all);
    cpSync(this.bare, all, { recursive: true, verbatimSymlinks: true });
    await succeed("npm", ["install", "--no-audit", "--no-fund", "--no-save", ...further], all);
  }

  get tarball(): string {
    return join(this.bare, readdirSync(this.bare).find((file) => file.endsWith(".tgz")) ?? "");
  }

  /**
   * A new project with these packages beside this one and zod, and what all of them need. They are moved into it, because
   * to copy or link each of their files would take minutes: the project before it has them no longer.
   */
  project(name: string, packages: readonly string[]): string {
    for (const lent of this.#lent.names) renameSync(join(this.#lent.to, lent), join(this.#all, lent));
    const project = join(this.folder, "projects", name);
    newProject(project);
    const to = join(project, "node_modules");
    const names = [...neededBy([NAME, "zod", TYPES, ...packages], this.#all), ".bin"];
    for (const needed of names) {
      mkdirSync(dirname(join(to, needed)), { recursive: true });
      renameSync(join(this.#all, needed), join(to, needed));
    }
    this.#lent = { to, names };
    return project;
  }
}

function newProject(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
}

export const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "esnext.collection", "esnext.iterator"],
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ["node"],
  },
  exclude: ["node_modules"],
};

/** Packages at the top of a folder that these need, and themselves. Peers that are optional are needed by none. */
function neededBy(names: readonly string[], folder: string): ReadonlySet<string> {
  const found = new Set<string>();
  const todo = [...names];
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const file = join(folder, name, "package.json");
    if (found.has(name) || !existsSync(file)) continue;
    found.add(name);
    todo.push(...dependenciesOf(join(folder, name)));
  }
  return found;
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** With those of the packages inside it, which come along but may need others from the top. */
function dependenciesOf(folder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { dependencies, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  const own = [...Object.keys(dependencies ?? {}), ...peers];
  const inner = join(folder, "node_modules");
  if (!existsSync(inner)) return own;
  const nested = readdirSync(inner).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(inner, name)).map((one) => `${name}/${one}`) : name,
  );
  return [
    ...own,
    ...nested.flatMap((name) =>
      existsSync(join(inner, name, "package.json")) ? dependenciesOf(join(inner, name)) : [],
    ),
  ];
}
