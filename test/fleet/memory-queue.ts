import type { QueuedWakes, Taking, Wake, WakeQueue, WakeTaker } from "../../src/fleet/index.ts";

/** A queue of this process, whose wakes a test can lose. */
export class MemoryQueue implements WakeQueue {
  readonly #wakes = new Map<string, Wake & { readonly at: number }>();
  readonly #given = new Set<string>();
  #giving: Promise<void> = Promise.resolve();
  readonly #takers = new Set<WakeTaker>();

  async wake(wakes: readonly Wake[]): Promise<void> {
    for (const wake of wakes) {
      const queued = this.#wakes.get(wake.execution);
      const at = Date.now() + (wake.afterMs ?? 0);
      if (!queued || at < queued.at) this.#wakes.set(wake.execution, { ...wake, at });
      setTimeout(() => this.#give(), wake.afterMs ?? 0).unref();
    }
    this.#give();
  }

  async unqueued(executions: readonly string[]): Promise<readonly string[]> {
    return executions.filter((execution) => !this.#wakes.has(execution) && !this.#given.has(execution));
  }

  async queued(): Promise<readonly QueuedWakes[]> {
    const byTenant = Map.groupBy(this.#wakes.values(), ({ tenant }) => tenant);
    return [...byTenant].map(([tenant, wakes]) => ({
      tenant,
      wakes: wakes.length,
      since: Math.min(...wakes.map(({ at }) => at)),
    }));
  }

  async work(taker: WakeTaker): Promise<Taking> {
    this.#takers.add(taker);
    this.#give();
    return {
      pull: () => this.#give(),
      [Symbol.asyncDispose]: async () => {
        this.#takers.delete(taker);
      },
    };
  }

  /** Forgets all wakes. */
  lose(): void {
    this.#wakes.clear();
  }

  get size(): number {
    return this.#wakes.size;
  }

  #give(): void {
    this.#giving = this.#giving.then(() => this.#giveAll());
  }

  async #giveAll(): Promise<void> {
    for (const { at, ...wake } of this.#wakes.values())
      for (const taker of this.#takers.values().toArray()) {
        if (at > Date.now() || taker.room() <= 0) continue;
        if ((await taker.passedOver()).includes(wake.tenant) || !this.#wakes.has(wake.execution)) continue;
        // The next wake is another taker's.
        this.#takers.delete(taker);
        this.#takers.add(taker);
        this.#wakes.delete(wake.execution);
        this.#given.add(wake.execution);
        taker.take(wake, () => this.#given.delete(wake.execution));
        break;
      }
  }
}
