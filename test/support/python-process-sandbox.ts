import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { encodeFrames, FrameDecoder } from "../../bridge/wire.ts";
import { PortcullisError } from "../../src/base/index.ts";
import { frameQueue } from "../../src/sandboxes/frame-queue.ts";
import { endOfRefused, type Exit, type Guest, type OpenOptions, type Sandbox } from "../../src/sandboxes/sandbox.ts";

const guestPath = fileURLToPath(import.meta.resolve("#guest/guest.py"));
const forkerPath = fileURLToPath(new URL("fork-guests.py", import.meta.url));
const OLDEST = [3, 11] as const;

/** How the guest is started; with `isolated` it has to start its interpreter again by itself. */
const OPTIONS = { direct: ["-s", "-P", "-B"], isolated: ["-I", "-B"] } as const;

/** This machine's Python, if it has one that the guest runs on. Where it has none, say so and skip. */
export const PYTHON: { readonly missing: boolean; readonly path: string } = findPython();

function findPython(): typeof PYTHON {
  try {
    // The interpreter itself: a script in its place, as version managers have, takes as long to start as the guest.
    const command = "import sys; print(*sys.version_info[:2], sys.executable)";
    const told = execFileSync("python3", ["-c", command], { encoding: "utf8" });
    const [major, minor, path] = /^(\d+) (\d+) (.+)\n$/.exec(told)?.slice(1) ?? [];
    const isRecent = Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1]);
    if (isRecent && path !== undefined) return { missing: false, path };
  } catch {
    // There is none at all.
  }
  process.stderr.write(
    `Tests of the Python guest are skipped: python3 is missing or older than ${OLDEST.join(".")}.\n`,
  );
  return { missing: true, path: "" };
}

/**
 * A sandbox for tests: the Python guest in a process of its own. It is **not a wall**: a program in it may do
 * whatever its user may. Never run a program in it that you did not write.
 */
export function createPythonProcessSandbox(start: keyof typeof OPTIONS = "direct"): Sandbox {
  return sandboxOf(
    async () => startInterpreter(OPTIONS[start]),
    async () => {},
  );
}

/**
 * The same, with guests that are forked from one interpreter, which is far cheaper. Objects of all its guests lie at the
 * same places: to show that a program does not depend on them, compare with a guest of another such sandbox.
 */
export function createForkedPythonSandbox(): Sandbox {
  const template = new ForkedInterpreter();
  return sandboxOf(
    () => template.fork(),
    () => template.end(),
  );
}

function sandboxOf(start: () => Promise<GuestProcess>, end: () => Promise<void>): Sandbox {
  const guests = new Set<Guest>();
  return {
    name: "python-process",
    languages: ["python"],
    async open({ language, limits }: OpenOptions, signal: AbortSignal): Promise<Guest> {
      signal.throwIfAborted();
      if (language !== "python")
        throw new PortcullisError("sandbox_unavailable", `The python-process sandbox runs python, not ${language}.`);
      const guest = pythonGuest(await start(), limits.frameBytes);
      guests.add(guest);
      void guest.exit.then(() => guests.delete(guest));
      return guest;
    },
    async [Symbol.asyncDispose]() {
      for (const guest of guests) guest.kill("the sandbox was closed");
      await Promise.all([...guests].map((guest) => guest.exit));
      await end();
    },
  };
}

/** A process that runs a guest. */
interface GuestProcess {
  readonly pipe: Duplex;
  /** Resolves with the reason when the process has ended and everything that it wrote has been read. */
  readonly ended: Promise<string>;
  readonly kill: () => void;
}

const ENVIRONMENT = { PATH: process.env.PATH, PYTHONHASHSEED: "0", TZ: "UTC", LC_ALL: "C.UTF-8" };

function startInterpreter(options: readonly string[]): GuestProcess {
  const child = spawn(PYTHON.path, [...options, guestPath, "--in", "3", "--out", "3"], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env: ENVIRONMENT,
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-8192);
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(`the process ended with ${signal ?? code}: ${stderr.trim()}`));
  });
  return { pipe: child.stdio[3] as Duplex, ended, kill: () => child.kill("SIGKILL") };
}

/** An interpreter that has loaded the guest, and forks a process for each connection. */
class ForkedInterpreter {
  readonly #folder = mkdtempSync(join(tmpdir(), "portcullis-python-"));
  readonly #socket = join(this.#folder, "socket");
  #started: Promise<ChildProcess> | undefined;

  async fork(): Promise<GuestProcess> {
    this.#started ??= this.#start();
    await this.#started;
    const pipe = connect(this.#socket);
    const ended = new Promise<string>((resolve) => pipe.once("close", () => resolve("the process ended")));
    await once(pipe, "readable");
    const pid = (pipe.read(4) as Buffer | null)?.readUInt32BE();
    if (pid === undefined) throw new Error("the forked guest has not sent its id");
    return { pipe, ended, kill: () => killIfAlive(pid) };
  }

  async end(): Promise<void> {
    const child = await this.#started;
    child?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true });
  }

  async #start(): Promise<ChildProcess> {
    const child = spawn(PYTHON.path, [...OPTIONS.direct, forkerPath, guestPath, this.#socket], {
      stdio: ["ignore", "pipe", "inherit"],
      env: ENVIRONMENT,
    });
    await once(child.stdout, "data");
    return child;
  }
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function pythonGuest({ pipe, ended, kill }: GuestProcess, frameBytes: number): Guest {
  const frames = frameQueue(Number.POSITIVE_INFINITY, () => {});
  const decoder = new FrameDecoder(frameBytes);
  let ending: Exit | undefined;
  /** The first ending counts. */
  const end = (exit: Exit) => {
    if (ending !== undefined) return;
    ending = exit;
    kill();
  };
  pipe.on("data", (chunk: Buffer) => {
    if (ending !== undefined) return;
    frames.push(decoder.push(chunk));
    if (decoder.refused !== undefined) end(endOfRefused(decoder.refused));
  });
  pipe.on("error", () => {});
  const exit = ended.then((detail) => {
    ending ??= { type: "died", detail };
    frames.end();
    return ending;
  });
  return {
    exit,
    frames,
    send(texts: readonly string[]) {
      if (ending === undefined) pipe.write(encodeFrames(texts));
    },
    usage: () => ({ peakMemoryBytes: 0, processorMs: undefined }),
    kill: (reason) => end({ type: "killed", reason }),
    release: () => end({ type: "released" }),
    async [Symbol.asyncDispose]() {
      this.kill("disposed");
      await exit;
    },
  };
}
