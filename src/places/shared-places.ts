import { randomUUID } from "node:crypto";
import { after, cancel, monotonic, type Timer } from "../clock.ts";
import { PLACES_LEASE_MS, type PlacesGiven, takePlaces } from "./shared-counts.ts";
import type { SharedState } from "./shared-state.ts";
import { Waiters } from "./waiters.ts";

/** How often a process asks again while it waits, and tells that it still holds its places, in milliseconds. */
const [ASK_MS, TELL_MS] = [50, 2000];
/** How long a process keeps places that it does not use, in milliseconds. */
const KEEP_MS = 500;

/**
 * Places of which several processes have so many together. A process keeps the places that it has for its next calls, so that
 * most calls ask no store; it gives them back when it does not use them, or when others wait and it has more than its part.
 */
export class SharedPlaces {
  readonly #state: SharedState;
  readonly #key: string;
  readonly #most: number;
  readonly #holder = randomUUID();
  readonly #waiters = new Waiters();
  #has = 0;
  #used = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #usedAt = 0;
  #given: Pick<PlacesGiven, "othersWait" | "share"> = { othersWait: false, share: Number.POSITIVE_INFINITY };
  #asking: Promise<void> | undefined;
  #timer: Timer | undefined;

  constructor(state: SharedState, key: string, most: number) {
    this.#state = state;
    this.#key = key;
    this.#most = most;
    state.onLeave(() => this.#leave());
  }

  /** Runs a function while it has a place. Rejects with the signal's reason if it is aborted first. */
  async run<Value>(run: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    await this.#take(signal);
    try {
      return await run();
    } finally {
      this.#giveBack();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    if (this.#waiters.count > 0 || this.#free() === 0) {
      const waiting = this.#waiters.wait(signal);
      this.#ask();
      // Who lets it go on has counted its place already.
      return waiting;
    }
    this.#use();
  }

  /** Places that no call uses. Without a word to the others for too long, they may have been given to others. */
  #free(): number {
    if (monotonic() - this.#toldAt > PLACES_LEASE_MS - TELL_MS) this.#has = this.#used;
    return this.#has - this.#used;
  }

  #use(): void {
    this.#used += 1;
    this.#usedAt = monotonic();
  }

  #giveBack(): void {
    this.#used -= 1;
    this.#usedAt = monotonic();
    const { othersWait, share } = this.#given;
    if (othersWait && this.#has > Math.floor(share)) {
      this.#has -= 1;
      this.#ask();
    }
    this.#goOn();
    this.#later();
  }

  #goOn(): void {
    while (this.#waiters.count > 0 && this.#free() > 0) {
      this.#use();
      this.#waiters.next();
    }
  }

  #ask(): void {
    this.#asking ??= this.#tell()
      .catch(() => {
        // The store cannot be reached: what it holds ends with its lease, and it asks again.
      })
      .finally(() => {
        this.#asking = undefined;
        this.#goOn();
        this.#later();
      });
  }

  async #tell(): Promise<void> {
    const isIdle = this.#waiters.count === 0 && monotonic() - this.#usedAt > KEEP_MS;
    if (isIdle) this.#has = this.#used;
    const [begun, keeps] = [monotonic(), this.#has];
    const asked = { holder: this.#holder, most: this.#most, keeps, waits: this.#waiters.count };
    const given = await this.#state.update(this.#key, (state: Parameters<typeof takePlaces>[0], now) =>
      takePlaces(state, asked, now),
    );
    this.#has += given.more;
    this.#given = given;
    this.#toldAt = begun;
  }

  /** Asks again while it waits; tells that it still holds what it holds, or gives back what it does not use. */
  #later(): void {
    cancel(this.#timer);
    if (this.#waiters.count === 0 && this.#has === 0) return;
    const idleMs = this.#has > this.#used ? KEEP_MS : TELL_MS;
    const ms = this.#waiters.count > 0 ? ASK_MS * (0.5 + Math.random()) : Math.min(idleMs + 1, TELL_MS);
    this.#timer = after(ms, () => this.#ask()).unref();
  }

  async #leave(): Promise<void> {
    if (this.#has === 0 && !this.#asking) return;
    await this.#asking;
    cancel(this.#timer);
    this.#has = this.#used;
    await this.#tell();
    cancel(this.#timer);
  }
}
