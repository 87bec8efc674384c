import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { type Block, blocksOf, nameOf } from "../support/snippets.ts";

/*
 * docs/start-here.md, as a reader follows it: files are saved, commands run in order, one process is killed.
 */

const START_HERE = "docs/start-here.md";

/** What became of commands. */
interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** A block of commands, and what became of it. */
interface Step extends Ran {
  readonly commands: string;
  /** What stands behind the block on the page. */
  readonly shown: string | undefined;
}

/** Makes the folder of the page, by its first block of commands or as they would. Resolves with the folder. */
type MakeFolder = (commands: string) => Promise<string>;

interface Begun {
  /** The number of the process that says how it is killed. */
  readonly pid: Promise<string>;
  readonly ended: Promise<Ran>;
}

/** Begins the commands of a block in the folder of the page. */
type Begin = (commands: string, folder: string) => Begun;

/** The line by which a process says how it is killed. The page shows one with a number of its own. */
const KILL = /kill -9 (\d+)/;

/** Follows the page, and compares what its commands print with what it shows. */
export async function expectPageHolds(makeFolder: MakeFolder, begin: Begin): Promise<void> {
  const steps = await Array.fromAsync(followPage(makeFolder, begin));
  const [ended, failed] = [steps.filter(({ code }) => code === 0), steps.filter(({ code }) => code !== 0)];
  // It was killed, and gave no result.
  expect(failed).toEqual([expect.objectContaining({ code: KILLED, stdout: "" })]);
  const missing = ended.filter(({ stdout, shown }) => shown !== undefined && !isShown(stdout, shown));
  expect(missing).toEqual([]);
  expect(ended.filter(({ shown }) => shown !== undefined).length).toBeGreaterThan(6);
}

/** The exit code of a shell whose command was killed. */
const KILLED = 137;

/** Each block of commands when it has ended. */
async function* followPage(makeFolder: MakeFolder, begin: Begin): AsyncGenerator<Step> {
  const [first, ...blocks] = blocksOf(START_HERE);
  const folder = await makeFolder(first?.text ?? "");
  let staying: { readonly pid: string; readonly ended: Promise<Step> } | undefined;
  for (const [index, block] of blocks.entries()) {
    const file = nameOf(block);
    if (file !== undefined) writeFileSync(join(folder, file), block.text);
    if (file !== undefined || !["sh", "shell"].includes(block.language)) continue;
    const shown = shownBehind(blocks[index + 1]);
    const run = (commands: string) => {
      const { pid, ended } = begin(commands, folder);
      return { pid, ended: ended.then((ran): Step => ({ commands, shown, ...ran })) };
    };
    if (KILL.test(shown ?? "")) {
      const { pid, ended } = run(block.text);
      staying = { pid: await pid, ended };
    } else if (staying && KILL.test(block.text)) {
      yield await run(block.text.replace(KILL, `kill -9 ${staying.pid}`)).ended;
      yield await staying.ended;
      staying = undefined;
    } else yield await untilFree(() => run(block.text).ended);
  }
}

/** Whether a text is shown, or has the parts that are: a line `…` stands for what is left out. */
function isShown(text: string, shown: string): boolean {
  const [first = "", ...parts] = shown.split(/^…\n/m);
  return parts.length === 0 ? text === first : [first, ...parts].every((part) => text.includes(part));
}

const shownBehind = (next: Block | undefined) => (next?.language === "" ? next.text : undefined);

/** Repeats a command as the page says: a process that was killed holds its execution for some seconds. */
async function untilFree(work: () => Promise<Step>): Promise<Step> {
  const isHeld = ({ stderr }: Step) => /until \d{4}-\d\d-\d\dT/.test(stderr);
  return await vi.waitUntil(async () => work().then((step) => !isHeld(step) && step), {
    timeout: 60_000,
    interval: 500,
  });
}

/** Begins commands in a shell with these variables. */
export const inShell =
  (env: NodeJS.ProcessEnv): Begin =>
  (commands, cwd) =>
    watched(spawn("sh", ["-ec", commands], { cwd, env, stdio: ["ignore", "pipe", "pipe"] }));

/** What a process says while it runs, and has said when it ends. */
function watched(child: ChildProcess): Begun {
  const output = { stdout: "", stderr: "" };
  const pid = Promise.withResolvers<string>();
  child.stdout?.on("data", (chunk: Buffer) => (output.stdout += String(chunk)));
  child.stderr?.on("data", (chunk: Buffer) => {
    output.stderr += String(chunk);
    const [, found] = KILL.exec(output.stderr) ?? [];
    if (found !== undefined) pid.resolve(found);
  });
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]): Ran => {
    pid.reject(new Error(`The command has ended: ${output.stderr}`));
    return { ...output, code: signal === "SIGKILL" ? KILLED : Number(code) };
  });
  // Most commands are not waited for in this way.
  pid.promise.catch(() => undefined);
  return { pid: pid.promise, ended };
}
