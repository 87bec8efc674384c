import { addAbortListener } from "node:events";
import PQueue from "p-queue";
import {
  after,
  cancel,
  type InLine,
  monotonic,
  type Rate,
  type SharedLimits,
  type Timer,
  WaitingLine,
} from "../../base/index.ts";
import type { Tool } from "../../tools/tool.ts";

type TurnQueue = PQueue<TenantsInTurn, TurnOptions>;

interface QueuesOfTool {
  /** For a tool whose concurrency is bounded. */
  readonly running?: TurnQueue;
  /** For a tool with a rate. */
  readonly starting?: Starts;
}

/**
 * The queues of tools with a bounded concurrency or a rate, for all executions of a runtime and of those derived from it.
 * Tenants are served in turn.
 */
export class ToolQueues {
  /** By handler, name and bounds: a copy of a tool for other callers is the same tool. */
  readonly #queues = new WeakMap<object, Map<string, QueuesOfTool>>();
  readonly #shared: SharedLimits | undefined;

  /** `shared`: the same bounds over all processes of a fleet. */
  constructor(shared?: SharedLimits) {
    this.#shared = shared;
  }

  add(tool: Tool): void {
    const { concurrency, rate, execute: handler } = tool;
    if (typeof handler !== "function" || this.#of(tool) || (!Number.isFinite(concurrency) && !rate)) return;
    const own = this.#queues.get(handler) ?? new Map<string, QueuesOfTool>();
    this.#queues.set(handler, own);
    own.set(keyOf(tool), {
      ...(Number.isFinite(concurrency) ? { running: new PQueue({ concurrency, queueClass: TenantsInTurn }) } : {}),
      ...(rate ? { starting: new Starts(rate) } : {}),
    });
  }

  /**
   * Runs a call when its tool's concurrency and rate allow one more. Drops it if the signal is aborted first: resolves
   * with undefined if the reason is an `AbortError`, as when a session closes, and otherwise rejects with the reason.
   * While a call waits for the rate it counts as running.
   */
  whenFree<Value>(
    tool: Tool,
    tenant: string,
    run: () => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const queues = this.#of(tool);
    return queues ? this.#inTurn(queues, tool, tenant, run, signal) : run();
  }

  #of(tool: Tool): QueuesOfTool | undefined {
    const { execute: handler } = tool;
    return typeof handler === "function" ? this.#queues.get(handler)?.get(keyOf(tool)) : undefined;
  }

  async #inTurn<Value>(
    { running }: QueuesOfTool,
    tool: Tool,
    tenant: string,
    run: () => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const begin = () => this.whenRate(tool, tenant, signal).then(run);
    const shared = this.#shared;
    const start = shared ? () => shared.run(keyOf(tool), tool.concurrency, begin, signal) : begin;
    try {
      return await (running ? running.add(start, { signal, tenant }) : begin());
    } catch (error) {
      if (signal.aborted && error instanceof Error && error.name === "AbortError") return undefined;
      throw error;
    }
  }

  /** Resolves when the tool's rate allows one more call. Rejects with the signal's reason if it is aborted first. */
  async whenRate(tool: Tool, tenant: string, signal: AbortSignal): Promise<void> {
    const starting = this.#of(tool)?.starting;
    if (!starting || !tool.rate) return;
    await starting.take(tenant, signal);
    await this.#shared?.start(keyOf(tool), tool.rate, signal);
  }
}

function keyOf({ name, concurrency, rate }: Tool): string {
  return JSON.stringify([name, concurrency, rate?.calls, rate?.perMs]);
}

type Run = () => Promise<unknown>;

/** Of `p-queue`'s options those that are used: its declarations do not compile under a user's `exactOptionalPropertyTypes`. */
interface TurnOptions {
  readonly tenant: string;
  readonly id?: string;
  readonly signal?: AbortSignal;
}

interface Task extends InLine {
  readonly id: string;
  readonly run: Run;
}

/** A waiting line as a queue of `p-queue`, which gives each task an id: tenants are served in turn, whatever they hold. */
export class TenantsInTurn {
  readonly #line = new WaitingLine<Task>();
  readonly #byId = new Map<string, Task>();

  get size(): number {
    return this.#line.length;
  }

  enqueue(run: Run, { tenant = "", id = "" }: Partial<TurnOptions> = {}): void {
    const task = { tenant, id, run };
    this.#byId.set(id, task);
    this.#line.add(task);
  }

  dequeue(): Run | undefined {
    const tenant = this.#line.next();
    const task = tenant === undefined ? undefined : this.#line.take(tenant);
    if (task) this.#byId.delete(task.id);
    return task?.run;
  }

  remove(id: string): void {
    const task = this.#byId.get(id);
    if (task) this.#line.remove(task);
    this.#byId.delete(id);
  }

  /** All tasks have one priority. */
  filter(): Run[] {
    return Array.from(this.#byId.values(), ({ run }) => run);
  }

  setPriority(): void {}
}

interface Waiter extends InLine {
  readonly start: () => void;
}

/**
 * Starts, of which there are no more than the rate allows in any span of time, wherever it begins. Waiting tenants are served
 * in turn. `p-queue` counts by the clock of the machine: set back by an hour, it would start none for that long.
 */
export class Starts {
  readonly #rate: Rate;
  readonly #line = new WaitingLine<Waiter>();
  /** When the last ones were, as many as the rate allows at once. The oldest is replaced next. */
  readonly #times: number[] = [];
  #oldest = 0;
  #timer: Timer | undefined;

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Resolves when one more may start. Rejects with the signal's reason if it is aborted first. */
  async take(tenant: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { tenant, start: resolve };
    this.#line.add(waiter);
    this.#serve();
    using _ = addAbortListener(signal, () => {
      this.#line.remove(waiter);
      this.#serve();
      reject(signal.reason);
    });
    await promise;
  }

  #serve(): void {
    while (this.#waitMs() <= 0) {
      const tenant = this.#line.next();
      if (tenant === undefined) break;
      this.#line.take(tenant)?.start();
      this.#times[this.#oldest] = monotonic();
      this.#oldest = (this.#oldest + 1) % this.#rate.calls;
    }
    cancel(this.#timer);
    if (this.#line.length > 0) this.#timer = after(this.#waitMs(), () => this.#serve());
  }

  #waitMs(): number {
    return (this.#times[this.#oldest] ?? Number.NEGATIVE_INFINITY) + this.#rate.perMs - monotonic();
  }
}
