import { availableParallelism, totalmem } from "node:os";
import { PortcullisError } from "../../errors.ts";
import { readOptions } from "../../options/options.ts";
import {
  type Exit,
  type Guest,
  type KillReason,
  type OpenOptions,
  QueueFull,
  type ResourceUsage,
  type Sandbox,
} from "../sandbox.ts";
import { diagnoseIsolates } from "./diagnose.ts";
import { EnginePool } from "./engine-pool.ts";
import type { EngineProcess } from "./engine-process.ts";
import { endOrphans } from "./janitor.ts";
import { ISOLATE_RULES, type IsolateSandboxOptions } from "./pool-options.ts";

/** How often the memory of a busy engine is read, in milliseconds. */
const WATCH_MS = 10;

/**
 * Memory that a process may use beyond `memoryBytes` before it is ended: for uncollected garbage, the text of values
 * that are sent or received, and V8 itself. V8 ends a program whose live objects exceed `memoryBytes`.
 */
export const MEMORY_SLACK_BYTES = 64 * 1024 * 1024;

/** Engines for each core: most programs wait for tools most of the time, so one core serves many. */
const ENGINES_PER_CORE = 16;
/** Memory that an engine may use with the default limits: its program's, the slack, and its own when idle. */
const ENGINE_BYTES = 128 * 1024 * 1024 + MEMORY_SLACK_BYTES + 64 * 1024 * 1024;

/** The default number of engines: `ENGINES_PER_CORE` for each core, no more than fit into half of the machine's memory, and at least two. */
export function defaultEngines(cores = availableParallelism(), memoryBytes = machineMemory()): number {
  return Math.max(2, Math.min(cores * ENGINES_PER_CORE, Math.floor(memoryBytes / 2 / ENGINE_BYTES)));
}

/** Memory that this process may use: the machine's, or its control group's limit if that is lower. */
function machineMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** A sandbox of engine processes: one program at a time in one fresh V8 isolate, in a child process that is ended by SIGKILL. */
export function createIsolateSandbox(options: IsolateSandboxOptions = {}): Sandbox & { readonly pool: EnginePool } {
  const pool = new EnginePool({
    warm: Math.min(2, availableParallelism()),
    engines: defaultEngines(),
    ...readOptions("createIsolateSandbox", options, ISOLATE_RULES),
  });
  let orphansEnded = false;
  return {
    name: "isolate",
    languages: ["javascript"],
    pool,
    async warm() {
      if (!orphansEnded) endOrphans();
      orphansEnded = true;
      await pool.warm().catch(unavailable);
    },
    async open(openOptions: OpenOptions, signal: AbortSignal): Promise<Guest> {
      if (openOptions.language !== "javascript")
        throw new PortcullisError(
          "sandbox_unavailable",
          `The isolate sandbox runs javascript, not ${openOptions.language}.`,
        );
      if (pool.closed)
        throw new PortcullisError("sandbox_unavailable", "The isolate sandbox is closed: create another one.");
      const engine = await pool
        .acquire(openOptions, signal)
        .catch((error: unknown) =>
          signal.aborted || error instanceof QueueFull ? Promise.reject(error) : unavailable(error),
        );
      return new IsolateGuest(engine, pool, openOptions.limits.memoryBytes + MEMORY_SLACK_BYTES);
    },
    async diagnose() {
      return diagnoseIsolates();
    },
    async clean() {
      return `${endOrphans()} engines ended`;
    },
    async [Symbol.asyncDispose]() {
      await pool.close();
    },
  };
}

function unavailable(cause: unknown): never {
  const detail = cause instanceof Error ? cause.message : String(cause);
  throw new PortcullisError(
    "sandbox_unavailable",
    `The isolate sandbox cannot start an engine here: ${detail}. It needs node 24 or later and the package isolated-vm; \`portcullis doctor\` shows what is missing.`,
    { cause },
  );
}

class IsolateGuest implements Guest {
  readonly frames: AsyncIterable<readonly string[]>;
  readonly exit: Promise<Exit>;
  readonly #engine: EngineProcess;
  readonly #pool: EnginePool;
  readonly #watch: NodeJS.Timeout;
  readonly #allowedBytes: number;
  /** Memory before this program: a reused engine keeps some of its earlier programs'. */
  readonly #baseBytes: number;
  readonly #release: () => void;
  #released = false;
  #peakBytes = 0;

  constructor(engine: EngineProcess, pool: EnginePool, allowedBytes: number) {
    this.#engine = engine;
    this.#pool = pool;
    this.#allowedBytes = allowedBytes;
    this.#baseBytes = engine.memoryBytes;
    this.frames = engine.frames;
    const released = Promise.withResolvers<Exit>();
    this.#release = () => released.resolve({ type: "released" });
    this.exit = Promise.race([released.promise, engine.exit]);
    this.#watch = setInterval(() => this.#watchMemory(), WATCH_MS).unref();
    void engine.exit.then(() => clearInterval(this.#watch));
  }

  send(frames: readonly string[]): void {
    if (!this.#released) this.#engine.send(frames);
  }

  usage(): ResourceUsage {
    return { peakMemoryBytes: this.#peakBytes, processorMs: this.#engine.processorMs };
  }

  kill(reason: KillReason): void {
    if (!this.#released) this.#engine.kill(reason);
  }

  release(): void {
    if (this.#released || this.#engine.ended) return;
    this.#watchMemory();
    this.#released = true;
    this.#engine.frames.end();
    this.#release();
    // Memory is watched until the engine is prepared for another program: until then its memory is this program's.
    void this.#pool.release(this.#engine).finally(() => clearInterval(this.#watch));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("disposed");
    await this.exit;
  }

  #watchMemory(): void {
    const bytes = this.#engine.memoryBytes - this.#baseBytes;
    if (bytes > this.#peakBytes) this.#peakBytes = bytes;
    if (bytes > this.#allowedBytes) this.#engine.killForMemory(bytes);
  }
}
