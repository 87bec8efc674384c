import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { CommandOptions, INIT } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";
import { type NewFile, writeNewFiles } from "./new-files.ts";
import { type Needs, needsOf, type PackageSource, sourceOf } from "./start-package.ts";

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

/** `portcullis init`: writes a folder to start from, and says what is in it and what to do next. Resolves with the exit code. */
export function init(folder: string, { mcp = false }: CommandOptions<typeof INIT>): number {
  const source = sourceOf(dirname(fileURLToPath(import.meta.resolve("portcullis/package.json"))), folder);
  const needs = needsOf(source, mcp);
  const files = filesOf(needs, mcp);
  writeNewFiles(folder, files);
  writeStdout(`${textOf(folder, files, source).join("\n")}\n`);
  return EXIT.completed;
}

function filesOf(needs: Needs, isServer: boolean): readonly NewFile[] {
  const example = (name: string) => ({
    name,
    text: readFileSync(fileURLToPath(import.meta.resolve(`#start/${name}`)), "utf8"),
  });
  const scripts = { start: RUN.replace("npx ", ""), types: "tsc" };
  return [
    ...["tools.ts", "program.js", "task.json"].map(example),
    ...(isServer ? [{ name: ".mcp.json", text: json(SERVER) }] : []),
    { name: "package.json", text: json({ private: true, type: "module", scripts, ...needs }) },
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
