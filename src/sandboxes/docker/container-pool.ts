import { removeContainer } from "./container.ts";
import { ContainerGuest } from "./container-guest.ts";
import type { ContainerPlan } from "./container-options.ts";
import type { Daemon } from "./daemon.ts";
import type { PoolCounts, PoolOptions } from "./pool-options.ts";

/** Kinds of containers that are kept warm at once: programs in two languages take turns without cooling each other. */
const WARM_KINDS = 2;

interface Idle {
  readonly key: string;
  readonly guest: ContainerGuest;
}

/** The containers of one sandbox. Each is given to one program, and then removed. */
export class ContainerPool {
  readonly #daemon: Daemon;
  readonly #options: PoolOptions;
  readonly #all = new Set<ContainerGuest>();
  #idle: Idle[] = [];
  /** Those asked for last, the latest first. */
  #kinds: readonly string[] = [];
  /** Containers that are being started, for a program or ahead of one. */
  readonly #starting = new Set<Promise<ContainerGuest>>();
  #startingAhead = 0;
  readonly #waiting: (() => void)[] = [];
  /** Containers that a daemon was asked to remove, and has not. */
  readonly #left = new Set<string>();
  #closed = false;

  constructor(daemon: Daemon, options: PoolOptions) {
    this.#daemon = daemon;
    this.#options = options;
  }

  get counts(): PoolCounts {
    return { containers: this.#all.size + this.#starting.size, idle: this.#idle.length, waiting: this.#waiting.length };
  }

  /** Resolves when the warm containers stand. */
  async warm(plan: ContainerPlan): Promise<void> {
    const key = JSON.stringify(plan);
    if (!this.#kinds.includes(key)) this.#kinds = [key, ...this.#kinds].slice(0, WARM_KINDS);
    const missing = this.#options.warm - this.#idle.filter((idle) => idle.key === key).length - this.#startingAhead;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#startAhead(plan, key)));
  }

  async acquire(plan: ContainerPlan, signal: AbortSignal): Promise<ContainerGuest> {
    const key = JSON.stringify(plan);
    const guest = this.#takeIdle(key) ?? (await this.#startNow(plan, signal));
    guest.ref();
    this.#kinds = [key, ...this.#kinds.filter((kind) => kind !== key)].slice(0, WARM_KINDS);
    for (const idle of this.#idle.filter((other) => !this.#kinds.includes(other.key)))
      idle.guest.kill("it is not needed any more");
    void this.warm(plan).catch(() => {});
    return guest;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const go of this.#waiting.splice(0)) go();
    await Promise.allSettled(this.#starting);
    for (const guest of this.#all) guest.kill("the sandbox was closed");
    await Promise.all([...this.#all].map((guest) => guest.removed));
    await this.#removeLeft();
  }

  #takeIdle(key: string): ContainerGuest | undefined {
    const index = this.#idle.findIndex((idle) => idle.key === key && !idle.guest.ended);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]?.guest;
  }

  async #startNow(plan: ContainerPlan, signal: AbortSignal): Promise<ContainerGuest> {
    while (this.#isFull) await this.#turn(signal);
    signal.throwIfAborted();
    if (this.#closed) throw new Error("the sandbox was closed");
    const starting = this.#start(plan);
    const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
    const onAbort = () => giveUp(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([starting, given]);
    } catch (error) {
      // Its caller has gone, so it is ended as soon as it stands.
      void starting.then((guest) => guest.kill("its caller has gone")).catch(() => {});
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #startAhead(plan: ContainerPlan, key: string): Promise<void> {
    if (this.#closed || this.counts.containers >= this.#options.containers) return;
    this.#startingAhead += 1;
    try {
      const guest = await this.#start(plan);
      if (guest.ended) return;
      guest.unref();
      this.#idle.push({ key, guest });
    } finally {
      this.#startingAhead -= 1;
    }
  }

  #start(plan: ContainerPlan): Promise<ContainerGuest> {
    const starting = ContainerGuest.start(this.#daemon, plan);
    this.#starting.add(starting);
    starting.then(
      (guest) => {
        this.#starting.delete(starting);
        this.#keep(guest);
      },
      () => {
        this.#starting.delete(starting);
        this.#waiting.shift()?.();
      },
    );
    return starting;
  }

  #keep(guest: ContainerGuest): void {
    this.#all.add(guest);
    void this.#removeLeft();
    void guest.exit.then(() => {
      this.#idle = this.#idle.filter((idle) => idle.guest !== guest);
    });
    void guest.removed.then((removed) => {
      this.#all.delete(guest);
      if (!removed) this.#left.add(guest.id);
      this.#waiting.shift()?.();
    });
    if (this.#closed) guest.kill("the sandbox was closed");
  }

  /** Tries again, now that the daemon seems to be well. */
  async #removeLeft(): Promise<void> {
    const ids = [...this.#left];
    this.#left.clear();
    await Promise.all(
      ids.map(async (id) => {
        if (!(await removeContainer(this.#daemon, id))) this.#left.add(id);
      }),
    );
  }

  get #isFull(): boolean {
    return !this.#closed && this.counts.containers >= this.#options.containers;
  }

  /** Resolves when a container has gone. An idle one goes for it, if there is one. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle[0]?.guest.kill("its place was needed");
    this.#waiting.push(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    const index = this.#waiting.indexOf(resolve);
    if (index >= 0) this.#waiting.splice(index, 1);
    signal.throwIfAborted();
  }
}
