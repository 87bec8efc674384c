import {
  Counts,
  defaultHeldBytes,
  type HeldBytes,
  heldWithin,
  type InLine,
  Places,
  type Release,
  WaitingLine,
} from "../../base/index.ts";
import type { Journal } from "../journal.ts";

/** The part of what a runtime may hold that readings of journals may hold together. */
const PART = 4;
/** The part of the readings' memory for one tenant, beyond its first reading. */
const TENANT_PART = 2;
const MOST_AT_ONCE = 8;
/** Open calls of an execution and its value, as one reading may hold them. One more reading runs for each such amount. */
const BYTES_OF_ONE = 64 * 1024 * 1024;

/** How many readings may run at once if so many bytes may be held. */
export function readingsAtOnce(allowedBytes: number): number {
  return Math.max(1, Math.min(MOST_AT_ONCE, Math.floor(allowedBytes / BYTES_OF_ONE)));
}

export interface Reading {
  /** Takes a place among the readings that run at once. Resolves once there is a place. */
  readonly begin: () => Promise<void>;
  /** Holds so many bytes in place of those held so far. Resolves once there is room; undefined if there is room now. */
  readonly hold: (bytes: number) => Promise<void> | undefined;
  /** Like `hold`, for bytes that are in memory already: it does not wait. */
  readonly count: (bytes: number) => void;
  readonly end: () => void;
}

interface Holding {
  readonly tenant: string;
  bytes: number;
  place: Release | undefined;
}

interface Waiter extends InLine {
  readonly holding: Holding;
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * Bounds the memory that readings of a journal hold together, and how many run at once. A reading that finds no room
 * waits, tenants in turn, and holds no bytes meanwhile, so no two readings wait for each other. A record larger than
 * the whole quota is read while no other is.
 */
export class ReadingQuota {
  readonly #held: HeldBytes;
  readonly #bytes = new Counts();
  readonly #line = new WaitingLine<Waiter>();
  readonly #places: Places;

  constructor(held: HeldBytes) {
    this.#held = held;
    const atOnce = readingsAtOnce(held.allowed);
    // A reading waits until its records are taken. Their bytes are bounded, so a tenant's first one need not wait for others.
    this.#places = new Places({ atOnce, first: atOnce });
  }

  get held(): number {
    return this.#bytes.all;
  }

  open(tenant: string): Reading {
    const holding: Holding = { tenant, bytes: 0, place: undefined };
    return {
      begin: async () => {
        holding.place = await this.#places.take(tenant);
      },
      hold: (bytes) => {
        if (bytes <= holding.bytes) return this.#count(holding, bytes);
        this.#count(holding, 0);
        if (this.#line.length > 0 || !this.#fits(tenant, bytes)) return this.#wait(holding, bytes);
        return this.#count(holding, bytes);
      },
      count: (bytes) => this.#count(holding, bytes),
      end: () => {
        this.#count(holding, 0);
        holding.place?.();
      },
    };
  }

  #fits(tenant: string, bytes: number): boolean {
    const allowed = this.#held.allowed / PART;
    const own = this.#bytes.of(tenant);
    if (own > 0 && own + bytes > allowed / TENANT_PART) return false;
    return this.held === 0 || this.held + bytes <= allowed;
  }

  #count(holding: Holding, bytes: number): undefined {
    const more = bytes - holding.bytes;
    if (more === 0) return;
    holding.bytes = bytes;
    this.#held.count(more);
    this.#bytes.add(holding.tenant, more);
    if (more < 0) this.#serve();
  }

  #wait(holding: Holding, bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.add({ tenant: holding.tenant, holding, bytes, begin: resolve });
    this.#serve();
    return promise;
  }

  #serve(): void {
    while (this.#serveNext());
  }

  /**
   * Unlike places, memory is taken in parts of any size. A reading that needs much must not be passed by others for
   * ever: if its tenant holds nothing, the readings behind it wait.
   */
  #serveNext(): boolean {
    for (const tenant of this.#line.wanting(this.#bytes.byKey)) {
      const next = this.#line.first(tenant);
      if (next && this.#fits(tenant, next.bytes)) {
        this.#line.take(tenant);
        this.#count(next.holding, next.bytes);
        next.begin();
        return true;
      }
      if (this.#bytes.of(tenant) === 0) return false;
    }
    return false;
  }
}

const quotas = new WeakMap<Journal, ReadingQuota>();
let unbound: ReadingQuota | undefined;

/** Readings of a store, and of journals that pass its records on, count together. The first runtime bounds them. */
export function countReadings(held: HeldBytes, store: Journal, ...others: readonly Journal[]): void {
  const quota = quotas.get(store) ?? new ReadingQuota(held);
  for (const journal of [store, ...others]) quotas.set(journal, quota);
}

/** The quota of readings of a journal. Journals without a runtime share one. */
export function quotaOf(journal: Journal): ReadingQuota {
  return quotas.get(journal) ?? (unbound ??= new ReadingQuota(heldWithin(defaultHeldBytes())));
}
