import { addAbortListener } from "node:events";
import { Counts } from "./counts.ts";
import { type InLine, WaitingLine } from "./waiting-line.ts";

export interface PlaceBounds {
  readonly atOnce: number;
  /** Further places, each for a tenant that has none; none by default. */
  readonly first?: number;
  /** Places that a tenant may have; any number by default. */
  readonly perTenant?: number | undefined;
  /** How many may wait; any number by default. */
  readonly queued?: number;
  /** Makes the error for a waiter beyond `queued`. */
  readonly full?: () => Error;
}

export type Release = () => void;

interface Waiter extends InLine {
  readonly begin: (release: Release | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** A number of places. Waiting tenants are served in turn, the tenant with the fewest places first. */
export class Places {
  readonly #atOnce: number;
  readonly #first: number;
  readonly #full: () => Error;
  readonly #line: WaitingLine<Waiter>;
  readonly #counts = new Counts();

  constructor({ atOnce, first = 0, perTenant, queued, full = () => new Error("Too many wait.") }: PlaceBounds) {
    this.#atOnce = atOnce;
    this.#first = first;
    this.#full = full;
    this.#line = new WaitingLine(queued, perTenant);
  }

  get activeCount(): number {
    return this.#counts.all;
  }

  get waiting(): number {
    return this.#line.length;
  }

  waitingOf(tenant: string): number {
    return this.#line.lengthOf(tenant);
  }

  /**
   * Takes a place, at once if a place is free. Otherwise resolves once a place is free, or with undefined once the signal
   * is aborted. Rejects if the line is full and this tenant has the most waiters: at once, or later when another tenant
   * comes. Calls `onWaiting` once it stands in the line.
   */
  take(tenant: string, signal?: AbortSignal, onWaiting?: () => void): Release | Promise<Release | undefined> {
    if (this.#line.mayHave(tenant, this.#counts.byKey) && this.#isFreeFor(tenant)) return this.#place(tenant);
    if (signal?.aborted) return Promise.resolve(undefined);
    // One promise, because calls of thousands wait here.
    const { promise, resolve, reject } = Promise.withResolvers<Release | undefined>();
    const settled =
      <Value>(settle: (value: Value) => void) =>
      (value: Value) => {
        listening?.[Symbol.dispose]();
        settle(value);
      };
    const waiter: Waiter = { tenant, begin: settled(resolve), reject: settled(reject) };
    const leave = () => {
      this.#line.remove(waiter);
      waiter.begin(undefined);
    };
    const listening = signal && addAbortListener(signal, leave);
    const refused = this.#line.add(waiter);
    refused?.reject(this.#full());
    if (refused !== waiter) onWaiting?.();
    return promise;
  }

  #isFreeFor(tenant: string): boolean {
    return this.activeCount < this.#atOnce + (this.#counts.of(tenant) === 0 ? this.#first : 0);
  }

  #place(tenant: string): Release {
    const giveBack = this.#counts.take(tenant, 1);
    return () => {
      giveBack?.();
      this.#line.comesLast(tenant);
      this.#serve();
    };
  }

  #serve(): void {
    for (;;) {
      const tenant = this.#line.next(this.#counts.byKey);
      if (tenant === undefined || !this.#isFreeFor(tenant)) return;
      this.#line.take(tenant)?.begin(this.#place(tenant));
    }
  }
}
