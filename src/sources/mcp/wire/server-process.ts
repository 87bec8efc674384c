import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import type { Readable } from "node:stream";
import { type OutputTail, pause, PortcullisError, startWith, ignore } from "../../../base/index.ts";

/** Variables of the host that every server gets: without them most commands are not found, or have no folder for their files. */
const INHERITED = ["PATH", "HOME"];

/** How long a server may take to end after its standard input was closed, and after SIGTERM, in milliseconds. */
const CLOSE_MS = 500;
const TERMINATE_MS = 500;
/** How long the rest of what an ended server has written is read, in milliseconds. */
const DRAIN_MS = 2000;

export interface ServerCommand {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/**
 * Starts the process of a server in a group of its own, with the processes that it starts: they end together. `onOutput` gets its
 * standard output, `log` the end of its standard error. Rejects with `source_unavailable` if the command cannot be started.
 */
export async function startServer(server: ServerCommand, onOutput: (chunk: Buffer) => void, log: OutputTail) {
  const { command, args = [], env, cwd } = server;
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new PortcullisError(
      "source_unavailable",
      `MCP server "${server.name}": there is no folder ${cwd} to start it in.`,
    );
  const child = startWith(["pipe", "pipe", "pipe"], (stdio) =>
    spawn(command, args, {
      cwd,
      env: { ...ofHost(INHERITED), ...env, ...ofHost([DOORS_VARIABLE]) },
      stdio,
      detached: process.platform !== "win32",
      windowsHide: true,
    }),
  ) as ChildProcessWithoutNullStreams;
  // Listened to at once: writing to a process that is gone is an event, and its end is learnt by `exit`.
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {}).on("data", onOutput);
  child.stderr.on("error", () => {}).on("data", (chunk: Buffer) => log.add(chunk));
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause: NodeJS.ErrnoException) => reject(notStarted(server, cause)));
  });
  child.on("error", () => {});
  return serverProcess(child);
}

export type ServerProcess = ReturnType<typeof serverProcess>;

function serverProcess(child: ChildProcessWithoutNullStreams) {
  const { stdin, stdout, stderr } = child;
  const watcher = watchHost(child.pid);
  let isOver = false;
  let lastWrite: Promise<unknown> = Promise.resolve();
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      isOver = true;
      // What the process has left behind ends too.
      signalGroup(child, "SIGKILL");
      watcher?.stdin?.end("ended\n");
      void whenRead(stdout).then(() => {
        for (const stream of [stdout, stderr, stdin]) stream.destroy();
        resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
      });
    });
  });
  const writeNow = async (text: string | undefined): Promise<void> => {
    if (isOver || !stdin.writable) throw new Error("The server's standard input is closed.");
    // What cannot be written any more is learnt by `exit`.
    if (text !== undefined) await new Promise<unknown>((resolve) => void stdin.write(text, resolve));
  };
  return {
    ended,
    /** Writes what `make` gives, once the pipe has taken all before it; nothing for undefined. Resolves when the pipe has taken it. */
    write(make: () => string | undefined): Promise<void> {
      const written = lastWrite.then(() => writeNow(make()));
      lastWrite = written.catch(ignore);
      return written;
    },
    pause: (): unknown => stdout.pause(),
    resume: (): unknown => stdout.resume(),
    /** Ends the group: standard input is closed, then SIGTERM, then SIGKILL. Resolves once the process has ended. */
    async stop(): Promise<void> {
      if (isOver) return;
      const over = ended.then(() => true);
      stdin.end();
      if (await Promise.race([over, pause(CLOSE_MS)])) return;
      signalGroup(child, "SIGTERM");
      if (await Promise.race([over, pause(TERMINATE_MS)])) return;
      signalGroup(child, "SIGKILL");
      await over;
    },
  };
}

/** Resolves when what the process has written was read, unless a process that it left behind may write more. */
async function whenRead(stdout: Readable): Promise<void> {
  if (stdout.readableEnded || stdout.destroyed) return;
  await Promise.race([once(stdout, "close").catch(ignore), pause(DRAIN_MS)]);
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group has ended.
  }
}

/** Says how many doors (`portcullis mcp`) are above a server that may be a door too. */
export const DOORS_VARIABLE = "PORTCULLIS_DOORS";

function ofHost(names: readonly string[]): NodeJS.ProcessEnv {
  const values = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/**
 * Starts a shell that ends the group whenever the host dies: the shell's standard input is a pipe that only the host
 * holds. Without it a server that does not read its input would outlive the host.
 */
function watchHost(pid: number | undefined): ChildProcess | undefined {
  if (pid === undefined || process.platform === "win32") return undefined;
  const watcher = startWith(["pipe", "ignore", "ignore"], (stdio) =>
    spawn("/bin/sh", ["-c", 'read -r line || kill -s KILL -- "-$1"', "sh", String(pid)], {
      stdio,
      detached: true,
      env: {},
    }),
  );
  watcher.on("error", () => {});
  watcher.stdin?.on("error", () => {});
  watcher.unref();
  return watcher;
}

function notStarted({ name, command }: ServerCommand, cause: NodeJS.ErrnoException): PortcullisError {
  const why =
    cause.code === "ENOENT"
      ? `the command ${JSON.stringify(command)} is not found. Install it, or give its path`
      : `the command ${JSON.stringify(command)} cannot be started: ${cause.message}`;
  return new PortcullisError("source_unavailable", `MCP server "${name}": ${why}.`, { cause });
}
