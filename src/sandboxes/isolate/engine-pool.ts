import { addAbortListener } from "node:events";
import { availableParallelism } from "node:os";
import {
  after,
  cancel,
  countNames,
  ignore,
  type InLine,
  monotonic,
  nextTurn,
  sumOf,
  type Timer,
  WaitingLine,
} from "../../base/index.ts";
import { type Offer, type OpenOptions, QueueFull } from "../sandbox.ts";
import { EngineProcess } from "./engine-process.ts";
import { isRefuted, noteReady } from "./engine-command.ts";
import type { PoolOptions } from "./pool-options.ts";
import { Evictions } from "../evictions.ts";

/** Heap limit that the first engines are prepared with. A program with another limit waits a millisecond for a new isolate. */
const USUAL_MEMORY_BYTES = 128 * 1024 * 1024;
/** How long an idle engine beyond the warm ones is kept, in milliseconds. */
const IDLE_MS = 10_000;

/**
 * How long after a program has begun an engine is started ahead of need, in milliseconds. The start may take its core, and a
 * process that runs one short program ends before.
 */
const REFILL_MS = 1000;

/** Starts ahead of need at a time. With more, all of them together take as long, and the first takes longer. */
const AT_ONCE = availableParallelism();

/** How long an engine may take to start, in milliseconds. */
const START_MS = 20_000;
/** How long a running engine may take to make the next isolate, in milliseconds. A slower engine is ended. */
const PREPARE_MS = 5000;

/** How long to wait for an engine that is preparing before another one is started, in milliseconds: about as long as a start takes. */
const SOON_MS = 50;
/** With so many running programs for each core the machine has enough to do: a program runs while the host prepares. */
const RUNNING_PER_CORE = 2;
/** How long to wait for a busy engine before another is started while so many programs run, in milliseconds. */
const CROWDED_MS = 500;

/**
 * An engine serves its tenant for this many times the duration of a start, before an engine of another tenant takes its
 * place.
 */
const TURN_STARTS = 3;

/** Of so many engines one is for tenants that have none: programs that compute without end give none up. */
const SHARED_FOR_ONE = 16;

/** Processor time that giving an engine to another program takes: a new isolate, and the way there. */
const CHANGE_MS = 2;

const CLOSED = "the sandbox was closed";
/** Failed starts after which a waiting program is rejected. A single start may fail by chance, if another process ended the engine. */
const FAILED_STARTS = 3;

interface Waiter extends InLine {
  failedStarts: number;
  readonly resolve: (engine: EngineProcess) => void;
  readonly reject: (error: unknown) => void;
}

/** An engine that runs a program, which may have to give it up. */
export interface BusyEngine {
  readonly engine: EngineProcess;
  /** Ends the guest, and leaves the engine to the pool. `freed` resolves when the engine is no longer the program's. */
  evict(freed: Promise<unknown>): void;
}

/**
 * The engines of one sandbox. An engine is starting, idle or busy. It runs one program at a time, and after its
 * first program only programs of the same tenant. It is busy until it is prepared for another program.
 */
export class EnginePool {
  readonly #options: PoolOptions;
  readonly #all = new Set<EngineProcess>();
  readonly #idle: EngineProcess[] = [];
  readonly #waiting: WaitingLine<Waiter>;
  /** Engines that run a program or have just run one, and their tenants. */
  readonly #busy = new Map<EngineProcess, string>();
  /**
   * Engines that will soon be available, and their tenants if they have one. They are starting, are ending to make room
   * for another engine, or have just begun to prepare for another program.
   */
  readonly #coming = new Map<EngineProcess, string | undefined>();
  readonly #evictions: Evictions<BusyEngine>;
  #usualMemoryBytes = USUAL_MEMORY_BYTES;
  #trimmer: Timer | undefined;
  #refiller: Timer | undefined;
  #starter: Timer | undefined;
  #startMs = SOON_MS;
  closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { engines, perTenant, queue } = options;
    this.#waiting = new WaitingLine(queue, perTenant, engines - Math.floor(engines / SHARED_FOR_ONE));
    this.#evictions = new Evictions({
      ...options,
      changeMs: CHANGE_MS,
      isShort: () => this.#memoryBytes > options.poolBytes,
      onDue: (occupied) => this.#freeMemory(occupied),
      onChange: () => this.#makeRoom(),
    });
  }

  /** Counts for `doctor`, tests and benchmarks. */
  get counts(): { readonly engines: number; readonly idle: number; readonly waiting: number } {
    return { engines: this.#all.size, idle: this.#idle.length, waiting: this.#waiting.length };
  }

  /**
   * Resolves when the first of the warm engines is ready. The others start a little later, because they would keep the
   * first program from a core. Rejects with the cause if the first cannot start.
   */
  async warm(): Promise<void> {
    const { warm, engines } = this.#options;
    if (this.#ready >= warm || this.#all.size >= engines) return;
    await this.#start();
    this.#refillSoon();
  }

  /** Returns an engine whose isolate has the requested heap limit, and whose guest's first frames are unread. */
  async acquire({ limits, tenant, hasBegun }: OpenOptions, signal: AbortSignal): Promise<EngineProcess> {
    this.#usualMemoryBytes = limits.memoryBytes;
    for (;;) {
      signal.throwIfAborted();
      if (this.closed) throw new Error(CLOSED);
      const engine = this.#takeIdle(tenant) ?? (await this.#waitForEngine(tenant, hasBegun === true, signal));
      this.#busy.set(engine, tenant);
      engine.serve(tenant);
      engine.ref();
      this.#refill();
      if (engine.preparedBytes !== limits.memoryBytes)
        await engine.prepare(limits.memoryBytes, PREPARE_MS).catch(ignore);
      engine.allowFrames(limits.frameBytes);
      if (!engine.ended) return engine;
    }
  }

  /**
   * Takes back an engine whose program has ended cleanly, and prepares it for the next program if it may run another.
   * Resolves once the engine is idle, runs another program, or has ended.
   */
  async release(engine: EngineProcess): Promise<void> {
    if (this.closed || this.#options.reuseEngines === "never") return engine.release();
    const timer = this.#expect(engine);
    try {
      // The host reports the program's ending first: an engine that is woken for the next program may take its core.
      await nextTurn();
      await engine.prepare(this.#usualMemoryBytes, PREPARE_MS);
    } catch {
      return;
    } finally {
      cancel(timer);
    }
    const kept = engine.memoryBytes - engine.baseMemoryBytes;
    if (this.closed || kept > this.#options.keptMemoryBytes) engine.release();
    else this.#offer(engine);
  }

  /** The program on this engine waits, and may be evicted until it is withdrawn. */
  offer(occupied: BusyEngine, offer: Offer): void {
    const { serving } = occupied.engine;
    if (!serving) return;
    this.#evictions.offer(occupied, serving.tenant, offer);
    if (this.#waiting.length > 0) this.#makeRoom();
  }

  withdraw(occupied: BusyEngine): void {
    this.#evictions.withdraw(occupied);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.#evictions.close();
    cancel(this.#trimmer);
    cancel(this.#refiller);
    cancel(this.#starter);
    const closed = new Error(CLOSED);
    for (const { reject } of this.#waiting.clear()) reject(closed);
    const engines = [...this.#all];
    for (const engine of engines) engine.kill(CLOSED);
    await Promise.all(engines.map((engine) => engine.exit));
  }

  /** Counts a preparing engine as coming, and as busy again if it is not ready soon. */
  #expect(engine: EngineProcess): Timer {
    const tenant = engine.serving?.tenant;
    this.#busy.delete(engine);
    this.#coming.set(engine, tenant);
    return after(SOON_MS, () => {
      this.#coming.delete(engine);
      if (tenant !== undefined && this.#all.has(engine)) this.#busy.set(engine, tenant);
      this.#makeRoom();
    });
  }

  #takeIdle(tenant: string): EngineProcess | undefined {
    if (!this.#waiting.mayHave(tenant, this.#held)) return undefined;
    const own = this.#idle.findLastIndex(({ serving }) => serving?.tenant === tenant);
    if (own >= 0) return this.#idle.splice(own, 1)[0];
    const spare = this.#idle.findIndex(({ serving }) => !serving);
    return spare < 0 ? undefined : this.#idle.splice(spare, 1)[0];
  }

  async #waitForEngine(tenant: string, hasBegun: boolean, signal: AbortSignal): Promise<EngineProcess> {
    const { promise, resolve, reject } = Promise.withResolvers<EngineProcess>();
    const waiter: Waiter = { tenant, hasBegun, failedStarts: 0, resolve, reject };
    using _ = addAbortListener(signal, () => {
      this.#waiting.remove(waiter);
      reject(signal.reason);
    });
    this.#waiting.add(waiter)?.reject(new QueueFull(this.#options.queue));
    this.#makeRoom();
    return await promise;
  }

  get #held(): ReadonlyMap<string, number> {
    return countNames([...this.#busy.values(), ...this.#coming.values()]);
  }

  /** How many engines are coming for whichever program is next. */
  get #comingForAny(): number {
    return this.#coming
      .values()
      .filter((tenant) => tenant === undefined)
      .toArray().length;
  }

  get #memoryBytes(): number {
    return sumOf(this.#all, (engine) => engine.memoryBytes);
  }

  #makeRoom(): void {
    this.#startForWaiting();
    if (this.#waiting.length > 0 && this.#evictions.size > 0) this.#evictForWaiting();
  }

  /** Takes engines from programs that wait for something else, for programs that wait for an engine. */
  #evictForWaiting(): void {
    for (let found = this.#nextEviction(); found; found = this.#nextEviction()) {
      const { occupied, tenant } = found;
      const { engine } = occupied;
      const isKept = engine.serving?.tenant === tenant || this.#isInTurn(engine);
      if (isKept && this.#options.reuseEngines !== "never") this.#free(occupied);
      else this.#freeFor(occupied, tenant);
    }
  }

  #nextEviction(): { readonly occupied: BusyEngine; readonly tenant: string } | undefined {
    if (this.closed) return undefined;
    const held = this.#held;
    const coming = countNames(this.#coming.values());
    const unserved = this.#waiting.unserved(held, coming);
    if (unserved > 0 && unserved <= this.#comingForAny) return undefined;
    for (const tenant of this.#waiting.wanting(held, coming)) {
      // This tenant gets another engine soon.
      if (this.#all.size < this.#options.engines && this.#waiting.mayHave(tenant, held)) continue;
      const occupied = this.#evictions.next(tenant, (other) => this.#waiting.losable(tenant, other, held));
      if (occupied) return { occupied, tenant };
    }
    return undefined;
  }

  /**
   * Whether an engine serves the next program of its tenant, though another tenant is next. A start takes as long as
   * many short programs: if each turn started an engine, tenants would wait for starts alone.
   */
  #isInTurn({ serving }: EngineProcess): boolean {
    if (!serving || !this.#waiting.first(serving.tenant)) return false;
    return monotonic() - serving.since < TURN_STARTS * this.#startMs;
  }

  /** Takes an engine from its program, and prepares it for the next program. */
  #free(occupied: BusyEngine): void {
    this.#evictions.withdraw(occupied);
    if (!occupied.engine.ended) occupied.evict(this.release(occupied.engine));
  }

  /** Takes an engine from its program, and starts an engine for another tenant in its place. */
  #freeFor(occupied: BusyEngine, tenant: string): void {
    const { engine } = occupied;
    this.#evictions.withdraw(occupied);
    if (engine.ended) return;
    this.#busy.delete(engine);
    this.#replace(engine, tenant);
    occupied.evict(engine.exit);
  }

  #freeMemory(occupied: BusyEngine): void {
    const idle = this.#idle.shift();
    if (idle) return idle.release();
    this.#evictions.withdraw(occupied);
    const { engine } = occupied;
    if (engine.ended) return;
    engine.release();
    occupied.evict(engine.exit);
  }

  /** Starts engines for the waiting programs, if necessary in place of other tenants' idle engines. */
  #startForWaiting(): void {
    while (!this.closed && this.#waiting.length > 0) {
      const coming = countNames(this.#coming.values());
      const held = this.#held;
      const tenant = this.#waiting.next(held, coming);
      if (tenant === undefined || this.#waiting.unserved(held, coming) <= this.#comingForAny) return;
      // A tenant at its bound waits also beside idle engines.
      const ready = this.#takeIdle(tenant);
      if (ready) {
        this.#give(ready, tenant);
        continue;
      }
      if (this.#all.size < this.#options.engines) {
        if (!this.#isStartDue(tenant, held, coming)) return this.#startLater();
        this.#start(tenant).catch((error: unknown) => this.#noteFailedStart(tenant, error));
        continue;
      }
      const idle = this.#idle.shift();
      if (!idle) return;
      this.#replace(idle, tenant);
    }
  }

  /**
   * Whether one more engine is to be started for a tenant at once. While two programs run for each core, one more
   * engine makes no program faster, and an engine of the tenant is soon free.
   */
  #isStartDue(tenant: string, held: ReadonlyMap<string, number>, coming: ReadonlyMap<string, number>): boolean {
    if (!held.has(tenant) || this.#options.reuseEngines === "never") return true;
    const running = this.#busy.size + this.#coming.size - this.#evictions.size;
    if (running < RUNNING_PER_CORE * availableParallelism()) return true;
    const served = (coming.get(tenant) ?? 0) + this.#comingForAny;
    return this.#waiting.countWaited(tenant, CROWDED_MS, served + 1) > served;
  }

  #startLater(): void {
    this.#starter ??= after(SOON_MS, () => {
      this.#starter = undefined;
      this.#makeRoom();
    });
  }

  /** Ends an engine that runs no program. After its exit an engine for this tenant is started. */
  #replace(engine: EngineProcess, tenant: string): void {
    this.#coming.set(engine, tenant);
    engine.release();
  }

  #noteFailedStart(tenant: string, error: unknown): void {
    const waiter = this.#waiting.first(tenant);
    if (!waiter) return;
    waiter.failedStarts += 1;
    if (waiter.failedStarts >= FAILED_STARTS) this.#waiting.take(tenant)?.reject(error);
    this.#makeRoom();
  }

  get #ready(): number {
    return this.#idle.length + this.#coming.size;
  }

  /** Starts engines ahead of need. With reuse, one engine that is ready is enough: busy engines come back, often before it is needed. */
  #refill(): void {
    const { engines, reuseEngines: reuse, warm } = this.#options;
    if (reuse !== "never") return this.#refillSoon();
    const startMore = () => this.#refill();
    while (!this.closed && this.#ready < warm && this.#all.size < engines && this.#coming.size < AT_ONCE)
      this.#start().then(startMore, ignore);
  }

  #refillSoon(): void {
    if (!this.#isShort) return;
    this.#refiller ??= after(REFILL_MS, () => {
      this.#refiller = undefined;
      if (this.#isShort) this.#start().then(() => this.#refillSoon(), ignore);
    }).unref();
  }

  get #isShort(): boolean {
    const { engines, warm } = this.#options;
    // A program that waits has an engine started for itself.
    if (this.closed || this.#all.size >= engines || this.#waiting.length > 0) return false;
    return this.#all.size < warm || this.#ready < Math.min(1, warm);
  }

  async #start(tenant?: string): Promise<void> {
    const since = monotonic();
    const engine = new EngineProcess(this.#options.command);
    this.#all.add(engine);
    this.#coming.set(engine, tenant);
    void engine.exit.then(() => this.#forget(engine));
    try {
      await engine.prepare(this.#usualMemoryBytes, START_MS);
      if (!this.#options.command) noteReady(engine.command);
    } catch (error) {
      if (this.closed || this.#options.command || !isRefuted(engine.command)) throw error;
      return await this.#start(tenant);
    } finally {
      this.#coming.delete(engine);
    }
    this.#startMs = Math.min(Math.max(SOON_MS, monotonic() - since), CROWDED_MS);
    this.#offer(engine);
  }

  #offer(engine: EngineProcess): void {
    this.#busy.delete(engine);
    this.#coming.delete(engine);
    if (this.#waiting.length > 0) {
      const tenant = engine.serving?.tenant;
      const held = this.#held;
      if (tenant !== undefined) this.#waiting.comesLast(tenant);
      const mayKeep = tenant !== undefined && this.#waiting.mayHave(tenant, held);
      if (mayKeep && this.#isInTurn(engine)) return this.#give(engine, tenant);
      const next = this.#waiting.next(
        held,
        tenant === undefined ? undefined : countNames(this.#coming.values()),
        tenant,
      );
      if (next !== undefined && (tenant === undefined || tenant === next)) return this.#give(engine, next);
      if (next !== undefined && this.#all.size >= this.#options.engines) return this.#replace(engine, next);
      if (mayKeep && this.#waiting.first(tenant)) return this.#give(engine, tenant);
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
    if (engine.serving) this.#waiting.comesLast(engine.serving.tenant);
    this.#all.delete(engine);
    this.#evictions.withdrawIf((occupied) => occupied.engine === engine);
    this.#busy.delete(engine);
    this.#coming.delete(engine);
    const index = this.#idle.indexOf(engine);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#makeRoom();
  }

  #trimLater(): void {
    if (this.#trimmer || this.#idle.length <= this.#options.warm) return;
    this.#trimmer = after(IDLE_MS, () => {
      this.#trimmer = undefined;
      if (this.#idle.length > this.#options.warm) this.#idle.shift()?.release();
      this.#trimLater();
    }).unref();
  }
}
