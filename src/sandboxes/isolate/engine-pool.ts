import type { OpenOptions } from "../sandbox.ts";
import { EngineProcess } from "./engine-process.ts";
import type { ParentDeathCommand } from "./parent-death.ts";

export interface PoolOptions {
  /** Engines kept ready for the next program. */
  readonly warm: number;
  /** Engines at once, idle ones included. Programs beyond that wait. */
  readonly engines: number;
  /** Whether an engine may serve another program of the same tenant. */
  readonly reuse: "tenant" | "never";
  /** Programs an engine serves before it is replaced. */
  readonly programsPerEngine: number;
  /** Memory an engine may have kept above its first program's start, in bytes, to be used again. */
  readonly keptMemoryBytes: number;
  /** How engines are started; found out where it is not given. */
  readonly command?: ParentDeathCommand;
}

/** Heap limit that idle engines are prepared with; a program with another one waits a millisecond for its isolate. */
const USUAL_MEMORY_BYTES = 128 * 1024 * 1024;
/** How long an idle engine beyond the warm ones is kept. */
const IDLE_MS = 10_000;

const CLOSED = "the sandbox was closed";
/** Starts that fail in a row before a program that waits is told. One may have been ended by somebody else. */
const FAILED_STARTS = 3;

interface Waiter {
  readonly tenant: string;
  failedStarts: number;
  readonly resolve: (engine: EngineProcess) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The engines of one sandbox. An engine is starting, idle or busy; it is given to one program at a time, and
 * once it has seen a tenant's program it only ever gets programs of that tenant.
 */
export class EnginePool {
  readonly #options: PoolOptions;
  readonly #all = new Set<EngineProcess>();
  readonly #idle: EngineProcess[] = [];
  readonly #waiting: Waiter[] = [];
  /** Engines that will be offered soon: starting, or preparing for their next program. */
  #coming = 0;
  #usualMemoryBytes = USUAL_MEMORY_BYTES;
  #trimmer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Counts for `doctor`, tests and benchmarks. */
  get counts(): { readonly engines: number; readonly idle: number; readonly waiting: number } {
    return { engines: this.#all.size, idle: this.#idle.length, waiting: this.#waiting.length };
  }

  /** Resolves when the warm engines stand. Rejects with the cause where engines cannot start here. */
  async warm(): Promise<void> {
    const { warm, engines } = this.#options;
    const missing = Math.min(warm - this.#idle.length - this.#coming, engines - this.#all.size);
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#start()));
  }

  /** An engine whose isolate has the asked heap limit, its guest's first frames unread. */
  async acquire({ limits, tenant }: OpenOptions, signal: AbortSignal): Promise<EngineProcess> {
    this.#usualMemoryBytes = limits.memoryBytes;
    for (;;) {
      signal.throwIfAborted();
      if (this.#closed) throw new Error(CLOSED);
      const engine = this.#takeIdle(tenant) ?? (await this.#waitForEngine(tenant, signal));
      engine.programs += 1;
      engine.tenant = tenant;
      engine.ref();
      this.#refill();
      if (engine.preparedBytes !== limits.memoryBytes) await engine.prepare(limits.memoryBytes).catch(() => {});
      engine.allowFrames(limits.frameBytes);
      if (!engine.ended) return engine;
    }
  }

  /** Takes back an engine whose program has ended cleanly, and prepares it for the next one where it may have one. */
  async release(engine: EngineProcess): Promise<void> {
    if (this.#closed || this.#options.reuse === "never" || engine.programs >= this.#options.programsPerEngine)
      return engine.retire();
    try {
      await this.#prepare(engine);
    } catch {
      return;
    }
    const kept = engine.memoryBytes - engine.baseMemoryBytes;
    if (this.#closed || kept > this.#options.keptMemoryBytes) engine.retire();
    else this.#offer(engine);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#trimmer);
    for (const waiter of this.#waiting.splice(0)) waiter.reject(new Error(CLOSED));
    const engines = [...this.#all];
    for (const engine of engines) engine.kill(CLOSED);
    await Promise.all(engines.map((engine) => engine.exit));
  }

  #takeIdle(tenant: string): EngineProcess | undefined {
    const own = this.#idle.findLastIndex((engine) => engine.tenant === tenant);
    const index = own >= 0 ? own : this.#idle.findIndex((engine) => engine.tenant === undefined);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0];
  }

  #waitForEngine(tenant: string, signal: AbortSignal): Promise<EngineProcess> {
    const { promise, resolve, reject } = Promise.withResolvers<EngineProcess>();
    const waiter: Waiter = { tenant, failedStarts: 0, resolve, reject };
    const leave = () => {
      const index = this.#waiting.indexOf(waiter);
      if (index >= 0) this.#waiting.splice(index, 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.push(waiter);
    this.#makeRoom();
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  /** Starts an engine for a waiter, where need be in place of another tenant's idle one. */
  #makeRoom(): void {
    if (this.#closed || this.#coming >= this.#waiting.length) return;
    if (this.#all.size >= this.#options.engines) this.#idle.shift()?.retire();
    if (this.#all.size < this.#options.engines) this.#start().catch((error: unknown) => this.#tellFailed(error));
  }

  #tellFailed(error: unknown): void {
    const waiter = this.#waiting[0];
    if (!waiter) return;
    waiter.failedStarts += 1;
    if (waiter.failedStarts >= FAILED_STARTS) this.#waiting.shift()?.reject(error);
    this.#makeRoom();
  }

  /** Starts an engine ahead of need. Where engines are used again, those that are busy will be back. */
  #refill(): void {
    if (this.#closed || this.#all.size >= this.#options.engines) return;
    const wanted = this.#options.reuse === "never" ? this.#options.warm : Math.min(1, this.#options.warm);
    if (this.#idle.length + this.#coming < wanted) this.#start().catch(() => {});
  }

  async #start(): Promise<void> {
    const engine = new EngineProcess(this.#options.command);
    this.#all.add(engine);
    void engine.exit.then(() => this.#forget(engine));
    await this.#prepare(engine);
    this.#offer(engine);
  }

  async #prepare(engine: EngineProcess): Promise<void> {
    this.#coming += 1;
    try {
      await engine.prepare(this.#usualMemoryBytes);
    } finally {
      this.#coming -= 1;
    }
  }

  /** Gives a prepared engine to whoever waits longest and may have it, else lets it idle. */
  #offer(engine: EngineProcess): void {
    const index = this.#waiting.findIndex((waiter) => engine.tenant === undefined || engine.tenant === waiter.tenant);
    const waiter = index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
    if (waiter) return waiter.resolve(engine);
    engine.unref();
    this.#idle.push(engine);
    if (this.#waiting.length > 0) this.#makeRoom();
    this.#trimLater();
  }

  #forget(engine: EngineProcess): void {
    this.#all.delete(engine);
    const index = this.#idle.indexOf(engine);
    if (index >= 0) this.#idle.splice(index, 1);
    if (this.#waiting.length > 0) this.#makeRoom();
  }

  #trimLater(): void {
    if (this.#trimmer || this.#idle.length <= this.#options.warm) return;
    this.#trimmer = setTimeout(() => {
      this.#trimmer = undefined;
      if (this.#idle.length > this.#options.warm) this.#idle.shift()?.retire();
      this.#trimLater();
    }, IDLE_MS).unref();
  }
}
