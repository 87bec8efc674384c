import { after, PortcullisError } from "../base/index.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import type { ExecutionPlaces, QueueState } from "./execution-places.ts";

/** The executions, conversations and calls that a runtime runs, which end when it closes. */
export class WorkUnderWay {
  /** Aborted when the runtime closes; the reason is a `PortcullisError` with the code `runtime_closed` or `runtime_suspended`. */
  readonly closing: AbortSignal;
  readonly #close = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #places: ExecutionPlaces | undefined;
  readonly #parent: WorkUnderWay | undefined;

  constructor(places: ExecutionPlaces | undefined, parent: WorkUnderWay | undefined) {
    this.#places = places;
    this.#parent = parent;
    this.closing = parent ? AbortSignal.any([parent.closing, this.#close.signal]) : this.#close.signal;
  }

  get queue(): QueueState {
    return this.#places?.state ?? { running: this.#running.size, waiting: 0 };
  }

  /** Runs work when there is a place for it. `execution` is its id, if its caller chose one. */
  inPlace<Value>(
    { tenant, signal, onEvent }: Pick<AgentScope, "tenant" | "signal" | "onEvent">,
    work: () => Promise<Value>,
    execution = "",
  ): Promise<Value> {
    const places = this.#places;
    if (!places) return work();
    const onWaiting = () => onEvent({ type: "execution_queued", execution, tenant, ...places.state });
    return places.run({ tenant, signal, onWaiting }, work);
  }

  /** Lets the closing of this runtime and of its parent wait for this work. */
  async untilEnded<Value>(running: Promise<Value>): Promise<Value> {
    this.#running.add(running);
    try {
      return await (this.#parent ? this.#parent.untilEnded(running) : running);
    } finally {
      this.#running.delete(running);
    }
  }

  async close(): Promise<void> {
    this.#close.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
    await Promise.allSettled(this.#running);
  }

  /** Leaves the work open in the journal, after it had `afterMs` to end by itself. Resolves with how much of it was left open. */
  async suspend(afterMs: number): Promise<number> {
    await this.#untilIdle(afterMs);
    const running = [...this.#running];
    this.#close.abort(
      new PortcullisError(
        "runtime_suspended",
        "The runtime was suspended. What it ran stays open in the journal: `recover` or `resume` of another runtime continues it.",
      ),
    );
    const ended = await Promise.allSettled(running);
    const errors = ended.map((one): unknown => (one.status === "rejected" ? one.reason : undefined));
    return errors.filter((error) => PortcullisError.is(error) && error.code === "runtime_suspended").length;
  }

  async #untilIdle(ms: number): Promise<void> {
    const deadline = Promise.withResolvers<"late">();
    using _ = after(ms, () => deadline.resolve("late"));
    while (this.#running.size > 0)
      if ((await Promise.race([Promise.allSettled(this.#running), deadline.promise])) === "late") break;
  }
}
