import { readFileSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join, basename, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { CommandOptions, INIT } from "../../command-options.ts";
import { EXIT, causeOf, CommandFailure, UsageFailure } from "../../failure.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";
import { writeStdout, oneLine } from "../../terminal/standard-streams.ts";
import { devDependencies, peerDependencies, version } from "../../package-json.ts";
import { fieldOf } from "../../../base/index.ts";

/** What each file is, for the text that the command ends with. */
const FILES: Readonly<Record<string, string>> = {
  "tools.ts": "two tools that read, and one that changes something: each of its calls waits until you allow it",
  "program.js": "a program as a model might write it: it makes 51 calls, and returns three rows",
  "task.json": "the question that the program answers, with the right answer",
  ".mcp.json": "by which Claude Code, and other MCP clients that read it, get the tools",
};

const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "esnext.iterator"],
    module: "nodenext",
    types: ["node"],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    // Node runs TypeScript by removing its types.
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
  },
  include: ["*.ts"],
};

const RUN = "npx portcullis run program.js --tools ./tools.ts";
const SERVER = {
  mcpServers: {
    portcullis: {
      command: "npx",
      // Where the package is not installed, npx would fetch whatever the registry has under its name.
      args: ["--no", "portcullis", "mcp", "--tools", "./tools.ts", "--journal", "./portcullis.db"],
    },
  },
};

/** `portcullis init`: writes a folder to start from, and says what is in it and what to do next. */
export function init(folder: string, { mcp }: CommandOptions<typeof INIT>): void {
  const source = packageSource(dirname(fileURLToPath(import.meta.resolve("portcullis/package.json"))), folder);
  const files = filesOf(source, mcp);
  writeNewFiles(folder, files);
  writeStdout(`${textOf(folder, files, source).join("\n")}\n`);
}

function filesOf(source: PackageSource, isServer: boolean | undefined): readonly NewFile[] {
  const example = (name: string) => ({
    name,
    text: readFileSync(fileURLToPath(import.meta.resolve(`#start/${name}`)), "utf8"),
  });
  const scripts = { start: RUN.replace("npx ", ""), types: "tsc" };
  return [
    ...["tools.ts", "program.js", "task.json"].map(example),
    ...(isServer ? [{ name: ".mcp.json", text: json(SERVER) }] : []),
    { name: "package.json", text: json({ private: true, type: "module", scripts, ...packageNeeds(source, isServer) }) },
    { name: "tsconfig.json", text: json(TSCONFIG) },
  ];
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function textOf(folder: string, files: readonly NewFile[], { clone }: PackageSource): readonly string[] {
  const installing = [
    ...(folder === "." ? [] : [`cd ${quoted(folder)}`]),
    ...(clone === undefined ? [] : [`npm pack ${quoted(clone)}`]),
    "npm install",
  ].join(" && ");
  const steps: readonly (readonly [command: string, what: string])[] = [
    [installing, "installs what it needs, about 80 MB"],
    [RUN, "runs the program, and prints what a model would read"],
    ["npx tsc", "checks the types"],
    [`npx portcullis tools --tools ./tools.ts --stubs`, "prints your tools as a model reads them"],
    [`npx portcullis ask "Who owes most?" --model PROVIDER:NAME --tools ./tools.ts`, "lets a model write the program"],
  ];
  return [
    `Written to ${folder}: ${files.map(({ name }) => name).join(", ")}. Next:`,
    ...files.flatMap(({ name }) => (FILES[name] === undefined ? [] : [`  ${name.padEnd(12)}${FILES[name]}`])),
    ...steps.map(([command, what]) => `  ${command}   # ${what}`),
  ];
}

interface NewFile {
  readonly name: string;
  readonly text: string;
}

/** The bit of a mode by which all users may write. */
const WRITABLE_BY_ALL = 0o002;

/**
 * Writes files to a folder, which is made if there is none, and is else empty. Throws a `CommandFailure`, and leaves no file behind,
 * if the folder has anything, cannot be written, or is open to other users: what is in it runs as the user who starts it.
 */
export function writeNewFiles(folder: string, files: readonly NewFile[]): void {
  // The commands that are printed name the folder.
  if (folder === "" || folder !== oneLine(folder))
    throw new UsageFailure("init: expected a folder, whose name has no characters that cannot be printed.");
  const written: string[] = [];
  try {
    mkdirSync(folder, { recursive: true });
    refuse(folder);
    for (const { name, text } of files) {
      writeFileSync(join(folder, name), text, { flag: "wx" });
      written.push(name);
    }
  } catch (error) {
    for (const name of written) rmSync(join(folder, name), { force: true });
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(
      EXIT.environment,
      `init: ${folder} cannot be written: ${causeOf(error)}. Nothing was written. Name another folder.`,
      { cause: error },
    );
  }
}

function refuse(folder: string): void {
  const here = folder === "." ? "this folder" : folder;
  const another = `Nothing was written. Name a new folder: portcullis init ${quoted(join(folder, "my-tools"))}`;
  // A repository may have been begun in it.
  if (readdirSync(folder).some((name) => name !== ".git"))
    throw new UsageFailure(`init: ${here} is not empty. ${another}`);
  const { uid, mode } = statSync(folder);
  const user = process.geteuid?.() ?? uid;
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  if (uid !== user || (mode & WRITABLE_BY_ALL) !== 0)
    throw new UsageFailure(`init: other users may write to ${here}. ${another}`);
}

/** Where npm gets this package from, for a folder that is to depend on it. */
interface PackageSource {
  /** As `dependencies` in package.json have it. */
  readonly spec: string;
  /** The clone of the sources that has to be packed into the folder first. */
  readonly clone?: string;
}

/** `home` is the folder of this package: in `node_modules`, where npm says what it was installed from, or a clone. */
export function packageSource(home: string, folder: string): PackageSource {
  // It is not published with the package.
  if (existsSync(join(home, "package-lock.json"))) return { spec: `file:portcullis-${version}.tgz`, clone: home };
  const tarball = tarballOf(home);
  if (tarball === undefined) return { spec: `^${version}` };
  return { spec: `file:${relative(resolve(folder), tarball).replaceAll(sep, "/")}` };
}

/** The tarball that npm has installed the package in this folder from; undefined if it came from elsewhere. */
function tarballOf(home: string): string | undefined {
  const modules = dirname(home);
  try {
    const lock: unknown = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
    const entry = fieldOf(fieldOf(lock, "packages"), `node_modules/${basename(home)}`);
    const resolved = fieldOf(entry, "resolved");
    if (typeof resolved !== "string" || !resolved.startsWith("file:")) return undefined;
    const path = resolved.slice("file:".length);
    return [path, decodeURIComponent(path)].map((one) => resolve(dirname(modules), one)).find(existsSync);
  } catch {
    return undefined;
  }
}

/** What the folder needs beside this package, with its versions. `isServer`: whether the folder serves MCP clients. */
export function packageNeeds({ spec }: PackageSource, isServer: boolean | undefined) {
  const server = "@modelcontextprotocol/server";
  return {
    dependencies: {
      [server]: isServer ? peerDependencies[server] : undefined,
      portcullis: spec,
      zod: peerDependencies["zod"],
    },
    // Declarations of this package refer to the types of node.
    devDependencies: {
      "@types/node": `^${devDependencies["@types/node"]}`,
      typescript: `^${devDependencies["typescript"]}`,
    },
  };
}
