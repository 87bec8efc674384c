import { type ChildProcessWithoutNullStreams, fork, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Asked, Said, WrittenText } from "./kept.ts";

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

/** Runs a program that says `called`, sends its process a signal then, and resolves with how it has ended. */
export async function signalled(
  args: readonly string[],
  program: string,
  signal: NodeJS.Signals,
  meanwhile?: (pid?: number) => Promise<void>,
) {
  const { child, finished } = start(args);
  const ended = finished();
  const called = new Promise<void>((resolve) =>
    child.stderr.on("data", (chunk: Buffer) => chunk.includes("called") && resolve()),
  );
  child.stdin.end(program);
  await called;
  await meanwhile?.(child.pid);
  child.kill(signal);
  return ended;
}

/** Signals that end a command, with the exit code of each. */
export const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

/** Runs the command line to its end in a process of its own, with this text on standard input. */
export function ownProcess(args: readonly string[], input: string | Buffer = "", options?: StartOptions) {
  const { child, finished } = start(args, options);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return finished();
}

/** A command that runs in the process which the commands of tests share. */
export interface Running {
  /** Resolves once a text has been written. */
  readonly until: (text: string) => Promise<void>;
  /** What has been written so far. */
  readonly written: () => Readonly<Record<WrittenText["stream"], string>>;
  /** Lets the command hear a signal, which its process does not get. */
  readonly hear: (signal: NodeJS.Signals) => void;
  readonly finished: Promise<Finished>;
}

type Settings = Pick<StartOptions, "cwd" | "environment">;

/**
 * Runs the command line to its end, with this text on standard input. Commands share a process and its engines, and are run
 * one at a time: what a command does to its process, or its process to a command, is tested in `ownProcess`.
 */
export function portcullis(args: readonly string[], input?: string | Buffer, settings?: Settings): Promise<Finished> {
  return begin(args, input, settings).finished;
}

/** The process that runs the commands of all files of tests that follow each other in this one, and ends with it. */
let kept: ReturnType<typeof keepProcess> | undefined;
let last: Promise<unknown> = Promise.resolve();

/** Begins a command like `portcullis`, for a test that acts while it runs. */
export function begin(
  args: readonly string[],
  input: string | Buffer = "",
  { cwd = root, environment = {} }: Settings = {},
): Running {
  const env = { ...process.env, ...environment } as Asked["env"];
  const asked: Asked = { args, input: Buffer.from(input).toString("base64"), cwd, env };
  const written = new Written();
  const finished = last.then(() => (kept ??= keepProcess()).run(asked, written));
  last = finished.catch(() => {});
  void last.then(() => written.end());
  return {
    until: (text) => written.until(text),
    written: () => written.texts,
    hear: (signal) => kept?.child.send({ signal }),
    finished,
  };
}

/** What a command has written so far. */
class Written {
  readonly #texts = { stdout: "", stderr: "" };
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #isWhole = false;

  add({ stream, text }: WrittenText): void {
    this.#texts[stream] += text;
    this.#changes.emit("change");
  }

  end(): void {
    this.#isWhole = true;
    this.#changes.emit("change");
  }

  get texts() {
    return this.#texts;
  }

  async until(text: string): Promise<void> {
    const { stdout, stderr } = this.#texts;
    if (stdout.includes(text) || stderr.includes(text)) return;
    if (this.#isWhole) throw new Error(`The command has ended without ${JSON.stringify(text)}:\n${stdout}${stderr}`);
    await once(this.#changes, "change");
    await this.until(text);
  }
}

function keepProcess() {
  const child = fork(keptFile, {
    execArgv: ["--conditions=portcullis-source"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  // It ends once this process has, which does not stay for it.
  child.unref();
  child.channel?.unref();
  const ended = once(child, "exit").then(([code, signal]: unknown[]) => {
    kept = undefined;
    throw new Error(`The process that runs the commands has ended (${String(code ?? signal)}).`);
  });
  ended.catch(() => {});
  const run = async (asked: Asked, written: Written): Promise<Finished> => {
    const { promise: code, resolve } = Promise.withResolvers<number>();
    const listen = (said: Said) => ("code" in said ? resolve(said.code) : written.add(said));
    child.on("message", listen);
    child.send(asked);
    try {
      return { code: await Promise.race([code, ended]), ...written.texts, pid: child.pid ?? 0 };
    } finally {
      child.off("message", listen);
    }
  };
  return { child, run };
}
