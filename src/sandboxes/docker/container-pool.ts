import { addAbortListener } from "node:events";
import { Evictions } from "../evictions.ts";
import { Closing } from "../closing.ts";
import { type Offer, type OpenOptions, QueueFull } from "../sandbox.ts";
import { countNames, ignore, type InLine, WaitingLine } from "../../base/index.ts";
import { ContainerGuest } from "./container/container-guest.ts";
import type { ContainerPlan } from "./container-options.ts";
import type { Daemon } from "./daemon.ts";
import type { ContainerPoolOptions } from "./docker-options.ts";
import { retryRemovals } from "./leftovers.ts";

/** Kinds of containers that are kept warm at once: two, so that alternating between two languages keeps both warm. */
const WARM_KINDS = 2;

/** Cost of removing a container and starting another one, in milliseconds of processor time. */
const CHANGE_MS = 500;

interface Waiter extends InLine {
  readonly start: () => void;
  readonly reject: (error: unknown) => void;
}

type Owner = Pick<OpenOptions, "tenant" | "hasBegun">;

const CLOSED = "the sandbox was closed";

/** The containers of one sandbox, each for one program. At their limit programs wait, and tenants take fair turns. */
export class ContainerPool {
  readonly #daemon: Daemon;
  readonly #options: ContainerPoolOptions;
  readonly #all = new Set<ContainerGuest>();
  #idle: { readonly key: string; readonly guest: ContainerGuest }[] = [];
  /** Keys of the most recently used kinds, the latest first. */
  #kinds: readonly string[] = [];
  /** Containers that are being started, for a program or ahead of one. */
  readonly #starting = new Set<Promise<ContainerGuest>>();
  #startingAhead = 0;
  readonly #waiting: WaitingLine<Waiter>;
  /** Tenants of containers that are in use or started for a program. Containers started ahead have none yet. */
  readonly #tenants = new Map<ContainerGuest | Promise<ContainerGuest>, string>();
  readonly #evictions: Evictions<ContainerGuest>;
  readonly #closing = new Closing();

  constructor(daemon: Daemon, options: ContainerPoolOptions) {
    this.#daemon = daemon;
    this.#options = options;
    this.#waiting = new WaitingLine(options.queue);
    this.#evictions = new Evictions({
      ...options,
      changeMs: CHANGE_MS,
      // The daemon may be on another machine, and each container's memory is bounded.
      isShort: () => false,
      onDue: (guest) => guest.evict(this.#closing),
      onChange: () => this.#makeRoom(),
    });
  }

  /** Counts for tests and benchmarks. Containers that are being started are included. */
  get counts() {
    return { containers: this.#all.size + this.#starting.size, idle: this.#idle.length, waiting: this.#waiting.length };
  }

  async warm(plan: ContainerPlan): Promise<void> {
    const key = JSON.stringify(plan);
    if (!this.#kinds.includes(key)) this.#kinds = [key, ...this.#kinds].slice(0, WARM_KINDS);
    const missing = this.#options.warm - this.#idle.filter((idle) => idle.key === key).length - this.#startingAhead;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#startAhead(plan, key)));
  }

  async acquire(plan: ContainerPlan, owner: Owner, signal: AbortSignal): Promise<ContainerGuest> {
    const { tenant } = owner;
    const key = JSON.stringify(plan);
    const guest = this.#takeIdle(key, tenant) ?? (await this.#startNow(plan, owner, signal));
    guest.setOfferListener((offer) => this.#noteOffer(guest, tenant, offer));
    if (this.#all.has(guest)) this.#tenants.set(guest, tenant);
    guest.hold(true);
    this.#kinds = [key, ...this.#kinds.filter((kind) => kind !== key)].slice(0, WARM_KINDS);
    for (const idle of this.#idle.filter((other) => !this.#kinds.includes(other.key)))
      idle.guest.kill("it is not needed any more");
    void this.warm(plan).catch(ignore);
    return guest;
  }

  async close(): Promise<void> {
    this.#closing.close();
    this.#evictions.close();
    const closed = new Error(CLOSED);
    for (const { reject } of this.#waiting.clear()) reject(closed);
    await Promise.allSettled(this.#starting);
    for (const guest of this.#all) guest.kill(CLOSED);
    await Promise.all([...this.#all].map((guest) => guest.removed));
    await retryRemovals(this.#daemon);
  }

  get #held(): ReadonlyMap<string, number> {
    return countNames(this.#tenants.values());
  }

  /** The program of a container waits. With undefined, it no longer waits. */
  #noteOffer(guest: ContainerGuest, tenant: string, offer: Offer | undefined): void {
    if (offer === undefined) return this.#evictions.withdraw(guest);
    this.#evictions.offer(guest, tenant, offer);
    if (this.#waiting.length > 0) this.#makeRoom();
  }

  /** Takes no container while programs wait: they were first, and idle containers are removed to make room for them. */
  #takeIdle(key: string, tenant: string): ContainerGuest | undefined {
    if (this.#waiting.length > 0 || !this.#waiting.mayHave(tenant, this.#held)) return undefined;
    const index = this.#idle.findIndex((idle) => idle.key === key && !idle.guest.ended);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]?.guest;
  }

  async #startNow(plan: ContainerPlan, { tenant, hasBegun }: Owner, signal: AbortSignal): Promise<ContainerGuest> {
    signal.throwIfAborted();
    if (this.#closing.isOver) throw new Error(CLOSED);
    const { promise, resolve, reject } = Promise.withResolvers<ContainerGuest>();
    let starting: Promise<ContainerGuest> | undefined;
    const start = () => {
      starting = this.#start(plan, tenant);
      starting.then(resolve, reject);
    };
    const waiter: Waiter = { tenant, hasBegun: hasBegun === true, start, reject };
    using _ = addAbortListener(signal, () => {
      this.#waiting.remove(waiter);
      reject(signal.reason);
      starting?.then((guest) => guest.kill("its caller gave up")).catch(ignore);
    });
    this.#waiting.add(waiter)?.reject(new QueueFull(this.#options.queue));
    this.#makeRoom();
    return await promise;
  }

  /** Starts containers for the waiting programs up to the limit, and ends idle ones, or evicts programs that wait, to make room for the rest. */
  #makeRoom(): void {
    while (this.#waiting.length > 0 && this.counts.containers < this.#options.containers) {
      const tenant = this.#waiting.next(this.#held);
      // Tenants that wait have all the containers that they may have. A program of theirs may give up its container.
      if (tenant === undefined) break;
      this.#waiting.take(tenant)?.start();
    }
    let ending = [...this.#all].filter((guest) => guest.ended).length;
    for (const { guest } of this.#idle) {
      if (ending >= this.#waiting.unserved(this.#held)) break;
      if (guest.ended) continue;
      guest.kill("another program needed its place");
      ending += 1;
    }
    for (; ending < this.#waiting.length; ending += 1) {
      const evicted = this.#nextEviction();
      if (!evicted) return;
      evicted.evict(this.#closing);
    }
  }

  #nextEviction(): ContainerGuest | undefined {
    if (this.#evictions.size === 0 || this.#closing.isOver) return undefined;
    const { held, coming } = this.#afterRemovals();
    for (const tenant of this.#waiting.wanting(held, coming)) {
      const guest = this.#evictions.next(tenant, (other) => this.#waiting.losable(tenant, other, held));
      if (guest) return guest;
    }
    return undefined;
  }

  /** What each tenant has once the containers that are being removed have made room for the programs that are next. */
  #afterRemovals(): { readonly held: ReadonlyMap<string, number>; readonly coming: ReadonlyMap<string, number> } {
    const isEnding = (place: ContainerGuest | Promise<ContainerGuest>) => "ended" in place && place.ended;
    const held = new Map(countNames([...this.#tenants].map(([place, of]) => (isEnding(place) ? undefined : of))));
    const coming = new Map<string, number>();
    for (const guest of this.#all) {
      if (!guest.ended) continue;
      const tenant = this.#waiting.next(held, coming);
      if (tenant === undefined) break;
      for (const counts of [held, coming]) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    }
    return { held, coming };
  }

  async #startAhead(plan: ContainerPlan, key: string): Promise<void> {
    if (this.#closing.isOver || this.counts.containers >= this.#options.containers) return;
    this.#startingAhead += 1;
    try {
      const guest = await this.#start(plan);
      if (guest.ended) return;
      guest.hold(false);
      this.#idle.push({ key, guest });
      this.#makeRoom();
    } finally {
      this.#startingAhead -= 1;
    }
  }

  #start(plan: ContainerPlan, tenant?: string): Promise<ContainerGuest> {
    const starting = ContainerGuest.start(this.#daemon, plan);
    this.#starting.add(starting);
    if (tenant !== undefined) this.#tenants.set(starting, tenant);
    const started = () => {
      this.#starting.delete(starting);
      this.#tenants.delete(starting);
    };
    starting.then(
      (guest) => {
        started();
        this.#keep(guest, tenant);
      },
      () => {
        started();
        this.#makeRoom();
      },
    );
    return starting;
  }

  #keep(guest: ContainerGuest, tenant: string | undefined): void {
    this.#all.add(guest);
    if (tenant !== undefined) this.#tenants.set(guest, tenant);
    // A container has started, so the daemon works.
    void retryRemovals(this.#daemon);
    void guest.exit.then(() => {
      this.#idle = this.#idle.filter((idle) => idle.guest !== guest);
    });
    void guest.removed.then(() => {
      const owner = this.#tenants.get(guest);
      if (owner !== undefined) this.#waiting.comesLast(owner);
      this.#all.delete(guest);
      this.#tenants.delete(guest);
      this.#makeRoom();
    });
    if (this.#closing.isOver) guest.kill(CLOSED);
  }
}
