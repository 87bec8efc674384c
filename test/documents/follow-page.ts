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
export interface Ran {
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
export type MakeFolder = (commands: string) => Promise<string>;

export interface Begun {
  /** The number of the process that says how it is killed, if the commands stay. */
  readonly told: Promise<string> | undefined;
  readonly ended: Promise<Ran>;
}

/** Begins the commands of a block in the folder of the page; `stays` if they are killed later. */
export type Begin = (commands: string, folder: string, stays: boolean) => Begun;

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
    const run = (commands: string, stays = false) => {
      const { told, ended } = begin(commands, folder, stays);
      return { told, ended: ended.then((ran): Step => ({ commands, shown, ...ran })) };
    };
    if (KILL.test(shown ?? "")) {
      const { told, ended } = run(block.text, true);
      staying = { pid: (await told) ?? "", ended };
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
export function watched(child: ChildProcess): Begun {
  const said = { stdout: "", stderr: "" };
  const told = Promise.withResolvers<string>();
  child.stdout?.on("data", (chunk: Buffer) => (said.stdout += String(chunk)));
  child.stderr?.on("data", (chunk: Buffer) => {
    said.stderr += String(chunk);
    const [, pid] = KILL.exec(said.stderr) ?? [];
    if (pid !== undefined) told.resolve(pid);
  });
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]): Ran => {
    told.reject(new Error(`The command has ended: ${said.stderr}`));
    return { ...said, code: signal === "SIGKILL" ? KILLED : Number(code) };
  });
  // Most commands are not waited for in this way.
  told.promise.catch(() => undefined);
  return { told: told.promise, ended };
}
