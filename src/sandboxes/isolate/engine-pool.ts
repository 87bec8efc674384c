import type { OpenOptions } from "../sandbox.ts";
import { EngineProcess } from "./engine-process.ts";
import type { PoolOptions } from "./pool-options.ts";
import { countNames, type InLine, WaitingLine } from "../waiting-line.ts";

/** Heap limit that idle engines are prepared with; a program with another one waits a millisecond for its isolate. */
const USUAL_MEMORY_BYTES = 128 * 1024 * 1024;
/** How long an idle engine beyond the warm ones is kept. */
const IDLE_MS = 10_000;

/** How long an engine may take to start, in milliseconds. */
const START_MS = 20_000;
/** How long a running engine may take to make the next isolate, in milliseconds; one that is doing something else is ended. */
const PREPARE_MS = 1000;

/** How long an engine that is preparing is waited for before another is started in its place: about as long as a start takes, in milliseconds. */
const SOON_MS = 50;

const CLOSED = "the sandbox was closed";
/** Starts that fail in a row before a program that waits is told. Another process may have ended one. */
const FAILED_STARTS = 3;

const NONE: ReadonlyMap<string, number> = new Map();

interface Waiter extends InLine {
  failedStarts: number;
  readonly resolve: (engine: EngineProcess) => void;
}

/**
 * The engines of one sandbox. An engine is starting, idle or busy; it is given to one program at a time, and
 * once it has seen a tenant's program it only ever gets programs of that tenant. It is busy until it stands ready
 * for another program.
 */
export class EnginePool {
  readonly #options: PoolOptions;
  readonly #all = new Set<EngineProcess>();
  readonly #idle: EngineProcess[] = [];
  readonly #waiting: WaitingLine<Waiter>;
  /** Engines with a program or just after one, and for which tenant. */
  readonly #busy = new Map<EngineProcess, string>();
  /** Engines that will soon be offered, with the tenant they are for, if there is one: they start, or end to make room for one that does, or have only just begun to prepare for another program. */
  readonly #coming = new Map<EngineProcess, string | undefined>();
  #usualMemoryBytes = USUAL_MEMORY_BYTES;
  #trimmer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#waiting = new WaitingLine(options.queue);
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
    const missing = Math.min(warm - this.#ready, engines - this.#all.size);
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#start()));
  }

  /** An engine whose isolate has the asked heap limit, its guest's first frames unread. */
  async acquire({ limits, tenant }: OpenOptions, signal: AbortSignal): Promise<EngineProcess> {
    this.#usualMemoryBytes = limits.memoryBytes;
    for (;;) {
      signal.throwIfAborted();
      if (this.#closed) throw new Error(CLOSED);
      const engine = this.#takeIdle(tenant) ?? (await this.#waitForEngine(tenant, signal));
      this.#busy.set(engine, tenant);
      engine.programs += 1;
      engine.tenant = tenant;
      engine.ref();
      this.#refill();
      if (engine.preparedBytes !== limits.memoryBytes)
        await engine.prepare(limits.memoryBytes, PREPARE_MS).catch(() => {});
      engine.allowFrames(limits.frameBytes);
      if (!engine.ended) return engine;
    }
  }

  /**
   * Takes back an engine whose program has ended cleanly, and prepares it for the next one where it may have one.
   * Resolves once the engine is idle, with another program, or ended.
   */
  async release(engine: EngineProcess): Promise<void> {
    if (this.#closed || this.#options.reuse === "never" || engine.programs >= this.#options.programsPerEngine)
      return engine.retire();
    const late = this.#expect(engine);
    try {
      await engine.prepare(this.#usualMemoryBytes, PREPARE_MS);
    } catch {
      return;
    } finally {
      clearTimeout(late);
    }
    const kept = engine.memoryBytes - engine.baseMemoryBytes;
    if (this.#closed || kept > this.#options.keptMemoryBytes) engine.retire();
    else this.#offer(engine);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#trimmer);
    this.#waiting.clear(new Error(CLOSED));
    const engines = [...this.#all];
    for (const engine of engines) engine.kill(CLOSED);
    await Promise.all(engines.map((engine) => engine.exit));
  }

  /** Counts an engine that is preparing as one that will soon be back, and as a busy one if it is not. */
  #expect(engine: EngineProcess): NodeJS.Timeout {
    const { tenant } = engine;
    this.#busy.delete(engine);
    this.#coming.set(engine, tenant);
    return setTimeout(() => {
      this.#coming.delete(engine);
      if (tenant !== undefined && this.#all.has(engine)) this.#busy.set(engine, tenant);
      this.#makeRoom();
    }, SOON_MS);
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
      this.#waiting.remove(waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.add(waiter);
    this.#makeRoom();
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  /** Engines that each tenant has or is to get. */
  get #held(): ReadonlyMap<string, number> {
    return countNames([...this.#busy.values(), ...this.#coming.values()]);
  }

  /** Starts engines for those that wait, where need be in place of other tenants' idle ones. */
  #makeRoom(): void {
    while (!this.#closed && this.#waiting.length > 0) {
      const coming = countNames(this.#coming.values());
      const forAny = [...this.#coming.values()].filter((tenant) => tenant === undefined).length;
      const tenant = this.#waiting.next(this.#held, coming);
      if (tenant === undefined || this.#waiting.unserved(coming) <= forAny) return;
      if (this.#all.size < this.#options.engines) {
        this.#start(tenant).catch((error: unknown) => this.#tellFailed(tenant, error));
        continue;
      }
      const idle = this.#idle.shift();
      if (!idle) return;
      this.#replace(idle, tenant);
    }
  }

  /** Ends an engine that no program is running in. Once it has gone, one for this tenant is started. */
  #replace(engine: EngineProcess, tenant: string): void {
    this.#coming.set(engine, tenant);
    engine.retire();
  }

  #tellFailed(tenant: string, error: unknown): void {
    const waiter = this.#waiting.first(tenant);
    if (!waiter) return;
    waiter.failedStarts += 1;
    if (waiter.failedStarts >= FAILED_STARTS) this.#waiting.take(tenant)?.reject(error);
    this.#makeRoom();
  }

  /** Engines that a program may have now, or will soon. */
  get #ready(): number {
    return this.#idle.length + this.#coming.size;
  }

  /** Starts an engine ahead of need. Where engines are used again, those that are busy will be back. */
  #refill(): void {
    if (this.#closed || this.#all.size >= this.#options.engines) return;
    const wanted = this.#options.reuse === "never" ? this.#options.warm : Math.min(1, this.#options.warm);
    if (this.#ready < wanted) this.#start().catch(() => {});
  }

  async #start(tenant?: string): Promise<void> {
    const engine = new EngineProcess(this.#options.command);
    this.#all.add(engine);
    this.#coming.set(engine, tenant);
    void engine.exit.then(() => this.#forget(engine));
    try {
      await engine.prepare(this.#usualMemoryBytes, START_MS);
    } finally {
      this.#coming.delete(engine);
    }
    this.#offer(engine);
  }

  /** Gives a prepared engine to the waiter whose turn it is, else lets it idle. */
  #offer(engine: EngineProcess): void {
    this.#busy.delete(engine);
    this.#coming.delete(engine);
    if (this.#waiting.length > 0) {
      const { tenant } = engine;
      const next = this.#waiting.next(
        this.#held,
        tenant === undefined ? NONE : countNames(this.#coming.values()),
        tenant,
      );
      if (next !== undefined && (tenant === undefined || tenant === next)) return this.#give(engine, next);
      if (next !== undefined && this.#all.size >= this.#options.engines) return this.#replace(engine, next);
      if (tenant !== undefined && this.#waiting.first(tenant)) return this.#give(engine, tenant);
    }
    engine.unref();
    this.#idle.push(engine);
    this.#makeRoom();
    this.#trimLater();
  }

  #give(engine: EngineProcess, tenant: string): void {
    this.#busy.set(engine, tenant);
    this.#waiting.take(tenant)?.resolve(engine);
  }

  #forget(engine: EngineProcess): void {
    this.#all.delete(engine);
    this.#busy.delete(engine);
    this.#coming.delete(engine);
    const index = this.#idle.indexOf(engine);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#makeRoom();
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
