import PQueue, { type QueueAddOptions } from "p-queue";
import { type InLine, monotonic, pause, type SharedLimits, WaitingLine } from "../../base/index.ts";
import type { Tool } from "../../tools/tool.ts";

type Run = () => Promise<unknown>;

interface TurnOptions extends QueueAddOptions {
  readonly tenant: string;
}

interface Task extends InLine {
  readonly id: string;
  readonly run: Run;
}

/** The waiting line as a queue of `p-queue`, which gives each task an id: tenants are served in turn, whatever they hold. */
class TenantsInTurn {
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

  filter(): Run[] {
    return Array.from(this.#byId.values(), ({ run }) => run);
  }

  setPriority(): void {}
}

const queueOf = (concurrency: number): PQueue<TenantsInTurn, TurnOptions> =>
  new PQueue({ concurrency, queueClass: TenantsInTurn });

type QueuesOfTool = ReturnType<typeof queuesOf>;

/** The queues of a tool whose concurrency is bounded, or that has a rate. */
function queuesOf({ concurrency, rate }: Tool) {
  const starting = queueOf(1);
  /** When the last calls started, as many as the rate allows at once. The oldest is replaced next. */
  const times: number[] = [];
  let oldest = 0;
  return {
    running: Number.isFinite(concurrency) ? queueOf(concurrency) : undefined,

    /**
     * Resolves when one more may start: in any span of time, wherever it begins, no more start than the rate allows. `p-queue`
     * counts by the clock of the machine: set back by an hour, it would start none for that long.
     */
    async start(tenant: string, signal: AbortSignal): Promise<void> {
      if (!rate) return;
      const next = async () => {
        const waitMs = (times[oldest] ?? -Infinity) + rate.perMs - monotonic();
        if (waitMs > 0) await pause(waitMs, { signal });
        if (signal.aborted) return;
        times[oldest] = monotonic();
        oldest = (oldest + 1) % rate.calls;
      };
      await starting.add(next, { signal, tenant });
    },
  };
}

/**
 * The queues of tools with a bounded concurrency or a rate, for all executions of a runtime and of those derived from it.
 * Tenants are served in turn. `shared`: the same bounds over all processes of a fleet.
 */
export function queuesOfTools(shared?: SharedLimits) {
  /** By handler, name and bounds: a copy of a tool for other callers is the same tool. */
  const all = new WeakMap<object, Map<string, QueuesOfTool>>();

  const of = (tool: Tool): QueuesOfTool | undefined => {
    const { execute: handler } = tool;
    return typeof handler === "function" ? all.get(handler)?.get(keyOf(tool)) : undefined;
  };

  /** Resolves when the tool's rate allows one more call. Rejects with the signal's reason if it is aborted first. */
  const whenRate = async (tool: Tool, tenant: string, signal: AbortSignal): Promise<void> => {
    await of(tool)?.start(tenant, signal);
    if (tool.rate) await shared?.start(keyOf(tool), tool.rate, signal);
  };

  return {
    whenRate,

    add(tool: Tool): void {
      const { concurrency, rate, execute: handler } = tool;
      if (typeof handler !== "function" || of(tool) || (!Number.isFinite(concurrency) && !rate)) return;
      const own = all.get(handler) ?? new Map<string, QueuesOfTool>();
      all.set(handler, own);
      own.set(keyOf(tool), queuesOf(tool));
    },

    /**
     * Runs a call when its tool's concurrency and rate allow one more, at once if the tool has neither. Drops it if the signal is
     * aborted first: resolves with undefined if the reason is an `AbortError`, as when a session closes, and otherwise rejects
     * with the reason. While a call waits for the rate it counts as running.
     */
    whenFree<Value>(
      tool: Tool,
      tenant: string,
      run: () => Promise<Value>,
      signal: AbortSignal,
    ): Promise<Value | undefined> {
      const queues = of(tool);
      if (!queues) return run();
      const begin = () => whenRate(tool, tenant, signal).then(run);
      const start = shared ? () => shared.run(keyOf(tool), tool.concurrency, begin, signal) : begin;
      const running: Promise<Value> = queues.running ? queues.running.add(start, { signal, tenant }) : begin();
      return running.catch((error: unknown) => {
        if (signal.aborted && error instanceof Error && error.name === "AbortError") return undefined;
        throw error;
      });
    },
  };
}

export type ToolQueues = ReturnType<typeof queuesOfTools>;

function keyOf({ name, concurrency, rate }: Tool): string {
  return JSON.stringify([name, concurrency, rate?.calls, rate?.perMs]);
}
