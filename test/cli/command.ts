import { type ChildProcessWithoutNullStreams, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { Answered, Asked } from "./kept.ts";

const cli = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
const keptFile = fileURLToPath(new URL("kept.ts", import.meta.url));
export const fixtures = fileURLToPath(new URL("fixtures/", import.meta.url));
export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly pid: number;
}

export interface StartOptions {
  /** The command line's own file, where it is not this tree's. */
  readonly cli?: string;
  /** Where standard output goes, where it is not read; or that its reader has gone. */
  readonly stdout?: number | "gone";
  /** Folder that it works in, where it is not this tree's. */
  readonly cwd?: string;
  /** Options of node. */
  readonly node?: readonly string[];
  /** Variables beside those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export function start(
  args: readonly string[],
  { cli: file = cli, stdout: target, cwd = root, node = [], environment }: StartOptions = {},
) {
  const child = spawn(process.execPath, ["--conditions=portcullis-source", ...node, file, ...args], {
    cwd,
    env: { ...process.env, ...environment },
    stdio: ["pipe", typeof target === "number" ? target : "pipe", "pipe"],
  }) as ChildProcessWithoutNullStreams;
  if (target === "gone") child.stdout.destroy();
  const finished = async (): Promise<Finished> => {
    const [stdout, stderr] = [target === undefined ? text(child.stdout) : "", text(child.stderr)];
    const [code] = (await once(child, "close")) as [number | null];
    return { code, stdout: await stdout, stderr: await stderr, pid: child.pid ?? 0 };
  };
  return { child, finished };
}

/** Runs the command line to its end in a process of its own, with this text on standard input. */
export function ownProcess(args: readonly string[], input: string | Buffer = "", options?: StartOptions) {
  const { child, finished } = start(args, options);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return finished();
}

let kept: ReturnType<typeof keepProcess> | undefined;
let last: Promise<unknown> = Promise.resolve();
afterAll(() => kept?.child.disconnect());

/**
 * Runs the command line to its end, with this text on standard input. Commands of one file of tests share a process, and
 * are run one at a time: what a command does to its process, or its process to a command, is tested in `ownProcess`.
 */
export function portcullis(args: readonly string[], input: string | Buffer = "", cwd = root): Promise<Finished> {
  const finished = last.then(() => (kept ??= keepProcess()).run(args, Buffer.from(input), cwd));
  last = finished.catch(() => {});
  return finished;
}

function keepProcess() {
  const child = fork(keptFile, {
    execArgv: ["--conditions=portcullis-source"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit").then(([code, signal]: unknown[]) => {
    throw new Error(`The process that runs the commands has ended (${String(code ?? signal)}).`);
  });
  const run = async (args: readonly string[], input: Buffer, cwd: string): Promise<Finished> => {
    const asked: Asked = { args, input: input.toString("base64"), cwd, env: process.env as Asked["env"] };
    const answered = once(child, "message");
    child.send(asked);
    const [answer] = (await Promise.race([answered, ended])) as [Answered];
    return { ...answer, pid: child.pid ?? 0 };
  };
  return { child, run };
}
