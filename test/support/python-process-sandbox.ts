import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { encodeFrames, FrameDecoder } from "../../bridge/wire.ts";
import { PortcullisError } from "../../src/errors.ts";
import { FrameQueue } from "../../src/sandboxes/frame-queue.ts";
import {
  endOfOversize,
  type Exit,
  type Guest,
  type KillReason,
  type OpenOptions,
  type Sandbox,
} from "../../src/sandboxes/sandbox.ts";

const guestPath = fileURLToPath(import.meta.resolve("#guest/guest.py"));
const OLDEST = [3, 11] as const;

/** How the guest is started; with `isolated` it has to start its interpreter again by itself. */
const OPTIONS = { direct: ["-s", "-P", "-B"], isolated: ["-I", "-B"] } as const;

/** Whether this machine has a Python that the guest runs on. Where it has none, say so and skip. */
export const PYTHON: { readonly missing: boolean } = { missing: !hasPython() };

function hasPython(): boolean {
  try {
    const told = execFileSync("python3", ["-c", "import sys; print(*sys.version_info[:2])"], { encoding: "utf8" });
    const [major = 0, minor = 0] = told.split(" ").map(Number);
    if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return true;
  } catch {
    // There is none at all.
  }
  process.stderr.write(
    `Tests of the Python guest are skipped: python3 is missing or older than ${OLDEST.join(".")}.\n`,
  );
  return false;
}

/**
 * A sandbox for tests: the Python guest in a process of its own. It is **not a wall**: a program in it may do
 * whatever its user may. Never run a program in it that you did not write.
 */
export function createPythonProcessSandbox(start: keyof typeof OPTIONS = "direct"): Sandbox {
  const guests = new Set<Guest>();
  return {
    name: "python-process",
    languages: ["python"],
    async open({ language, limits }: OpenOptions, signal: AbortSignal): Promise<Guest> {
      signal.throwIfAborted();
      if (language !== "python")
        throw new PortcullisError("sandbox_unavailable", `The python-process sandbox runs python, not ${language}.`);
      const guest = new PythonProcess(OPTIONS[start], limits.frameBytes);
      guests.add(guest);
      void guest.exit.then(() => guests.delete(guest));
      return guest;
    },
    async [Symbol.asyncDispose]() {
      for (const guest of guests) guest.kill("the sandbox was closed");
      await Promise.all([...guests].map((guest) => guest.exit));
    },
  };
}

class PythonProcess implements Guest {
  readonly exit: Promise<Exit>;
  readonly frames = new FrameQueue(Number.POSITIVE_INFINITY, () => {});
  readonly #child: ChildProcess;
  readonly #pipe: Duplex;
  readonly #decoder: FrameDecoder;
  #ending: Exit | undefined;
  #stderr = "";

  constructor(options: readonly string[], frameBytes: number) {
    this.#decoder = new FrameDecoder(frameBytes);
    this.#child = spawn("python3", [...options, guestPath, "--in", "3", "--out", "3"], {
      stdio: ["ignore", "ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, PYTHONHASHSEED: "0", TZ: "UTC", LC_ALL: "C.UTF-8" },
    });
    this.#pipe = this.#child.stdio[3] as Duplex;
    this.#pipe.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#pipe.on("error", () => {});
    (this.#child.stderr as Readable).on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-8192);
    });
    this.exit = new Promise((resolve) => {
      this.#child.once("error", (error) => this.#end({ type: "died", detail: error.message }));
      this.#child.once("close", (code, signal) => {
        this.#end({ type: "died", detail: `the process ended with ${signal ?? code}: ${this.#stderr.trim()}` });
        this.frames.end();
        resolve(this.#ending ?? { type: "released" });
      });
    });
  }

  send(frames: readonly string[]): void {
    if (this.#ending === undefined) this.#pipe.write(encodeFrames(frames));
  }

  usage() {
    return { peakMemoryBytes: 0, processorMs: undefined };
  }

  kill(reason: KillReason): void {
    this.#end({ type: "killed", reason });
  }

  release(): void {
    this.#end({ type: "released" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("disposed");
    await this.exit;
  }

  #receive(chunk: Buffer): void {
    if (this.#ending !== undefined) return;
    this.frames.push(this.#decoder.push(chunk));
    const { oversize } = this.#decoder;
    if (oversize !== undefined) this.#end(endOfOversize(oversize));
  }

  /** The first ending counts. */
  #end(exit: Exit): void {
    if (this.#ending !== undefined) return;
    this.#ending = exit;
    this.#child.kill("SIGKILL");
  }
}
