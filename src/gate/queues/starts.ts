import { addAbortListener } from "node:events";
import { after, cancel, type InLine, monotonic, type Rate, type Timer, WaitingLine } from "../../base/index.ts";

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
