import { monotonic, pause, Places, type Rate, type SharedLimits } from "../../base/index.ts";
import type { Tool } from "../../tools/tool.ts";

/** The queues of a tool whose concurrency is bounded, or that has a rate. */
class QueuesOfTool {
  readonly running: Places;
  readonly #rate: Rate | undefined;
  readonly #starting = new Places({ atOnce: 1 });
  /** When the last calls started, as many as the rate allows at once. The oldest is replaced next. */
  readonly #times: number[] = [];
  #oldest = 0;

  constructor({ concurrency, rate }: Tool) {
    this.running = new Places({ atOnce: concurrency });
    this.#rate = rate;
  }

  /** Resolves when one more may start: in any span of time, wherever it begins, no more start than the rate allows. */
  async start(tenant: string, signal: AbortSignal): Promise<void> {
    const rate = this.#rate;
    const leave = rate && (await this.#starting.take(tenant, signal));
    if (!rate || !leave) return;
    const waitMs = (this.#times[this.#oldest] ?? Number.NEGATIVE_INFINITY) + rate.perMs - monotonic();
    if (waitMs > 0) await pause(waitMs, { signal });
    if (!signal.aborted) {
      this.#times[this.#oldest] = monotonic();
      this.#oldest = (this.#oldest + 1) % rate.calls;
    }
    leave();
  }
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
    own.set(keyOf(tool), new QueuesOfTool(tool));
  }

  /**
   * Runs a call when its tool's concurrency and rate allow one more, at once if the tool has neither. Resolves with undefined if
   * the signal is aborted first. While a call waits for the rate it counts as running.
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

  async #inTurn<Value>(
    { running }: QueuesOfTool,
    tool: Tool,
    tenant: string,
    run: () => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const leave = await running.take(tenant, signal);
    if (!leave) return undefined;
    const begin = async () => {
      await this.whenRate(tool, tenant, signal);
      return signal.aborted ? undefined : run();
    };
    try {
      return await (this.#shared?.run(keyOf(tool), tool.concurrency, begin, signal) ?? begin());
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    } finally {
      leave();
    }
  }

  /** Resolves when the tool's rate allows one more call, or once the signal is aborted. */
  async whenRate(tool: Tool, tenant: string, signal: AbortSignal): Promise<void> {
    await this.#of(tool)?.start(tenant, signal);
    if (tool.rate && !signal.aborted) await this.#shared?.start(keyOf(tool), tool.rate, signal);
  }

  #of(tool: Tool): QueuesOfTool | undefined {
    const { execute: handler } = tool;
    return typeof handler === "function" ? this.#queues.get(handler)?.get(keyOf(tool)) : undefined;
  }
}

function keyOf({ name, concurrency, rate }: Tool): string {
  return JSON.stringify([name, concurrency, rate?.calls, rate?.perMs]);
}
