import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { type OutputTail, pause, PortcullisError, startWith } from "../../../base/index.ts";

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

/** The process of a server, with the processes that it has started: they form a group, and end together. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #watcher: ChildProcess | undefined;
  readonly ended: Promise<string>;
  #isOver = false;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#watcher = watchHost(child.pid);
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#isOver = true;
        // What the process has left behind ends too.
        this.#signal("SIGKILL");
        this.#watcher?.stdin?.end("ended\n");
        void this.#whenRead().then(() => {
          for (const stream of [child.stdout, child.stderr, child.stdin]) stream?.destroy();
          resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
        });
      });
    });
  }

  /**
   * Starts the process in a group of its own. `onOutput` gets its standard output, `log` the end of its standard error.
   * Rejects with `source_unavailable` if the command cannot be started.
   */
  static async start(server: ServerCommand, onOutput: (chunk: Buffer) => void, log: OutputTail) {
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
    return new ServerProcess(child);
  }

  /** Writes what `make` gives, once the pipe has taken all before it; nothing for undefined. Resolves when the pipe has taken it. */
  write(make: () => string | undefined): Promise<void> {
    const written = this.#lastWrite.then(() => this.#write(make()));
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  async #write(text: string | undefined): Promise<void> {
    const { stdin } = this.#child;
    if (this.#isOver || !stdin?.writable) throw new Error("The server's standard input is closed.");
    // What cannot be written any more is learnt by `exit`.
    if (text !== undefined) await new Promise<unknown>((resolve) => void stdin.write(text, resolve));
  }

  pause(): void {
    this.#child.stdout?.pause();
  }

  resume(): void {
    this.#child.stdout?.resume();
  }

  /** Ends the group: standard input is closed, then SIGTERM, then SIGKILL. Resolves once the process has ended. */
  async stop(): Promise<void> {
    if (this.#isOver) return;
    const over = this.ended.then(() => true);
    this.#child.stdin?.end();
    if (await Promise.race([over, pause(CLOSE_MS)])) return;
    this.#signal("SIGTERM");
    if (await Promise.race([over, pause(TERMINATE_MS)])) return;
    this.#signal("SIGKILL");
    await over;
  }

  /** Resolves when what the process has written was read, unless a process that it left behind may write more. */
  async #whenRead(): Promise<void> {
    const { stdout } = this.#child;
    if (!stdout || stdout.readableEnded || stdout.destroyed) return;
    await Promise.race([once(stdout, "close").catch(() => {}), pause(DRAIN_MS)]);
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (process.platform === "win32") this.#child.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // The group has ended.
    }
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
