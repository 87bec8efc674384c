import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { portcullis, root, start } from "../cli/command.ts";
import { type Begin, type Ran, expectPageHolds, inShell, watched } from "./follow-page.ts";
import { newFolder } from "../support/new-folder.ts";

const parent = newFolder();

async function makeFolder(commands: string): Promise<string> {
  expect(commands).toMatch(/ portcullis init first\ncd first && npm install\n$/);
  await portcullis(["init", "first"], "", { cwd: parent });
  const packages = join(parent, "first", "node_modules");
  mkdirSync(packages);
  symlinkSync(root, join(packages, "portcullis"));
  symlinkSync(join(root, "node_modules/zod"), join(packages, "zod"));
  return join(parent, "first");
}

/** The arguments of a line that runs the command line: words, also in quotes. */
function argsOf(line: string): readonly string[] | undefined {
  const [npx, name, ...args] = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  return npx === "npx" && name === "portcullis" ? args : undefined;
}

const shell = inShell(process.env);

/** One line after the other. */
async function runLines(commands: string, cwd: string): Promise<Ran> {
  const all = { stdout: "", stderr: "", code: 0 };
  for (const line of commands.trimEnd().split("\n")) {
    const args = argsOf(line);
    const ran = await (args ? portcullis(args, "", { cwd }) : shell(line, cwd, false).ended);
    all.stdout += ran.stdout;
    all.stderr += ran.stderr;
    all.code ||= ran.code ?? 1;
  }
  return all;
}

/** The command that is killed has a process of its own; the others share one. */
const begin: Begin = (commands, cwd, stays) =>
  stays ? watched(start(argsOf(commands) ?? [], { cwd }).child) : { told: undefined, ended: runLines(commands, cwd) };

// The same on the tarball, in a shell: test/package/package.all.test.ts.
test("Start here can be followed on the sources, and its refund is paid once", () =>
  expectPageHolds(makeFolder, begin));
