import { addAbortListener } from "node:events";
import { availableParallelism, totalmem } from "node:os";
import { cancel, every, PortcullisError, readOptions, thrownMessage, type Timer } from "../../base/index.ts";
import { Closing } from "../closing.ts";
import type { FrameQueue } from "../frame-queue.ts";
import type { FramePieces } from "../unsent-frames.ts";
import {
  checkLanguage,
  EndingGuest,
  type Exit,
  type Finding,
  type Guest,
  type Offer,
  type OpenOptions,
  QueueFull,
  type ResourceUsage,
  type Sandbox,
  type SandboxLoad,
  usageOf,
} from "../sandbox.ts";
import type { EnginePool, BusyEngine } from "./engine-pool.ts";
import { startCommand } from "./engine-command.ts";
import type { EngineProcess } from "./engine-process.ts";
import { wallFinding } from "./diagnose.ts";
import { endOrphans } from "./janitor.ts";
import { ISOLATE_RULES, type IsolateSandboxOptions, type PoolOptions } from "./pool-options.ts";
import { whyNoAddon } from "./platform.ts";
import { leasePool } from "./shared-pools.ts";

/** How often the memory of a busy engine is read, in milliseconds. */
const WATCH_MS = 10;

/**
 * Memory that a process may use beyond `memoryBytes` before it is ended: for uncollected garbage, the text of values
 * that are sent or received, and V8 itself. V8 ends a program whose live objects exceed `memoryBytes`.
 */
const MEMORY_SLACK_BYTES = 64 * 1024 * 1024;

/** Engines for each core: most programs wait for tools most of the time, so one core serves many. */
const ENGINES_PER_CORE = 16;
/** Memory that an engine may use with the default limits: for its program, the slack, and its own when idle. */
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

/**
 * A sandbox of engine processes: one program at a time in one fresh V8 isolate, in a child process that is ended by
 * SIGKILL. Sandboxes with equal options share their engines, and the bounds on them. Disposing of a sandbox ends its
 * programs; the engines end with the last sandbox that shares them.
 */
export function createIsolateSandbox(options: IsolateSandboxOptions = {}): PooledSandbox {
  return new IsolateSandbox({
    warm: Math.min(2, availableParallelism()),
    engines: defaultEngines(),
    poolBytes: Math.floor(machineMemory() / 2),
    ...readOptions("createIsolateSandbox", options, ISOLATE_RULES),
  });
}

/** The pool is for measures of this package. */
export interface PooledSandbox extends Sandbox {
  /** @internal */
  readonly pool: EnginePool;
}

class IsolateSandbox implements PooledSandbox {
  readonly name = "isolate";
  readonly languages = ["javascript"] as const;
  readonly #options: PoolOptions;
  readonly #guests = new Set<IsolateGuest>();
  readonly #closing = new Closing();
  #lease: ReturnType<typeof leasePool> | undefined;
  #orphansEnded = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get pool(): EnginePool {
    this.#lease ??= leasePool(this.#options);
    return this.#lease.pool;
  }

  get load(): SandboxLoad | undefined {
    const pool = this.#lease?.pool;
    if (!pool) return undefined;
    const { engines: guests, idle, waiting } = pool.counts;
    return { pool, guests, idle, waiting };
  }

  get remark(): string | undefined {
    const { state, detail } = wallFinding(startCommand());
    return state === "good"
      ? undefined
      : `A program that gets out of V8 is held by less here than elsewhere: ${detail}. \`portcullis doctor\` shows this too.`;
  }

  async warm(): Promise<void> {
    this.#check();
    const warming = this.pool.warm().catch(unavailable);
    // While the engine starts.
    if (!this.#orphansEnded) endOrphans();
    this.#orphansEnded = true;
    await warming;
  }

  async open(options: OpenOptions, signal: AbortSignal): Promise<Guest> {
    checkLanguage(this.name, this.languages, options.language);
    this.#check();
    const engine = await this.#acquire(options, signal);
    if (this.#closing.isOver) {
      engine.release();
      throw closed();
    }
    const allowedBytes = options.limits.memoryBytes + MEMORY_SLACK_BYTES;
    const guest = new IsolateGuest(engine, this.pool, allowedBytes, this.#closing);
    this.#guests.add(guest);
    void guest.exit.then(() => this.#guests.delete(guest));
    return guest;
  }

  async diagnose(): Promise<readonly Finding[]> {
    const { diagnoseIsolates } = await import("./diagnose.ts");
    return diagnoseIsolates();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.close();
    const guests = [...this.#guests];
    for (const guest of guests) guest.kill("the sandbox was closed");
    await Promise.all(guests.map((guest) => guest.exit));
    await this.#lease?.release();
  }

  /** Throws if no program can run: the sandbox is closed, or isolated-vm cannot be loaded here. */
  #check(): void {
    if (this.#closing.isOver) throw closed();
    if (this.#lease) return;
    const why = whyNoAddon();
    if (why !== undefined) throw new PortcullisError("sandbox_unavailable", why);
  }

  async #acquire(options: OpenOptions, signal: AbortSignal): Promise<EngineProcess> {
    signal.throwIfAborted();
    const wait = new AbortController();
    using _ = addAbortListener(signal, () => wait.abort(signal.reason));
    const close = () => wait.abort(closed());
    this.#closing.listen(close);
    try {
      return await this.pool.acquire(options, wait.signal);
    } catch (error) {
      if (wait.signal.aborted) throw error;
      // Another copy of this module may have made the pool, with other classes than those that are known here.
      const { code, allowed } = error as Partial<QueueFull>;
      throw code === "queue_full" && allowed !== undefined ? new QueueFull(allowed) : unavailable(error);
    } finally {
      this.#closing.forget(close);
    }
  }
}

function closed(): PortcullisError {
  return new PortcullisError("sandbox_unavailable", "The isolate sandbox is closed: create another one.");
}

function unavailable(cause: unknown): never {
  const detail = thrownMessage(cause);
  throw new PortcullisError(
    "sandbox_unavailable",
    `The isolate sandbox cannot start an engine here: ${detail}. \`portcullis doctor\` shows what is missing.`,
    { cause },
  );
}

class IsolateGuest extends EndingGuest implements Guest, BusyEngine {
  readonly frames: FrameQueue;
  readonly engine: EngineProcess;
  readonly #pool: EnginePool;
  readonly #watch: Timer;
  readonly #allowedBytes: number;
  /** Memory before this program: a reused engine keeps some memory of earlier programs. */
  readonly #baseBytes: number;
  readonly #closing: Closing;
  #hasLeft = false;
  #peakBytes = 0;
  readonly #readProcessor = () => (this.#hasLeft ? undefined : this.engine.processorMs);

  constructor(engine: EngineProcess, pool: EnginePool, allowedBytes: number, closing: Closing) {
    super();
    this.engine = engine;
    this.#closing = closing;
    this.#pool = pool;
    this.#allowedBytes = allowedBytes;
    this.#baseBytes = engine.memoryBytes;
    this.frames = engine.frames;
    engine.listen((exit) => {
      // Between two readings it may have taken all that it was allowed.
      if (exit.type === "memory")
        this.#peakBytes = Math.max(this.#peakBytes, exit.seenBytes, allowedBytes - MEMORY_SLACK_BYTES);
      this.exited.resolve(exit);
    });
    this.#watch = every(WATCH_MS, () => this.#watchMemory()).unref();
  }

  send(frames: readonly FramePieces[]): void {
    this.#pool.withdraw(this);
    if (!this.#hasLeft) this.engine.send(frames);
  }

  get unsent(): number {
    return this.#hasLeft ? 0 : this.engine.unsent;
  }

  usage(): ResourceUsage {
    return usageOf(this.#peakBytes, this.#readProcessor);
  }

  offer(offer: Offer): void {
    if (!this.#hasLeft && !this.engine.ended) this.#pool.offer(this, offer);
  }

  evict(freed: Promise<unknown>): void {
    this.#watchMemory();
    this.#leaveAs({ type: "evicted", closing: this.#closing }, freed);
  }

  protected end(exit: Exit): void {
    this.#pool.withdraw(this);
    if (!this.#hasLeft) this.engine.end(exit);
  }

  override release(): void {
    this.#pool.withdraw(this);
    if (this.#hasLeft || this.engine.ended) return;
    this.#watchMemory();
    this.#leaveAs({ type: "released" }, this.#pool.release(this.engine));
  }

  #leaveAs(exit: Exit, freed: Promise<unknown>): void {
    this.#hasLeft = true;
    this.engine.listen(undefined);
    this.frames.end();
    this.exited.resolve(exit);
    // Memory is watched until the engine is prepared for another program: until then its memory is this program's.
    void freed.finally(() => cancel(this.#watch));
  }

  #watchMemory(): void {
    if (this.engine.ended) return cancel(this.#watch);
    const bytes = this.engine.memoryBytes - this.#baseBytes;
    if (bytes > this.#peakBytes) this.#peakBytes = bytes;
    if (bytes > this.#allowedBytes) this.engine.end({ type: "memory", seenBytes: bytes });
  }
}
