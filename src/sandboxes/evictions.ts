import { after, cancel, monotonic, type Timer } from "../base/index.ts";
import type { Offer } from "./sandbox.ts";

/** How often free memory is looked at while programs wait in their places, in milliseconds. */
const LOOK_MS = 500;
/** How often free memory is looked at while it is short, in milliseconds. Each time one program gives up its place. */
const SHORT_MS = 50;

export interface EvictionOptions<Place> {
  /** `never`: no program gives up its place. */
  readonly evict: "needed" | "never";
  /** Cost of a change of places beside a replay, in milliseconds of processor time. */
  readonly changeMs: number;
  readonly isShort: () => boolean;
  /** Called for a place that is to be given up because memory is short. */
  readonly onDue: (place: Place) => void;
  /** Called when places may be taken that could not be before. */
  readonly onChange: () => void;
}

interface Offered {
  readonly tenant: string;
  readonly since: number;
  /** From when on the place may be taken for a program of its own tenant, and of another. */
  readonly ownFrom: number;
  readonly othersFrom: number;
}

/**
 * Engines or containers whose programs wait. A place may be taken once its program has waited for as long as its replay
 * takes. So replays never take more time than programs have waited. A program whose replay takes too much, or that cannot be
 * replayed, keeps its place from its own tenant, but not from others.
 */
export class Evictions<Place> {
  readonly #options: EvictionOptions<Place>;
  /** The program that has waited longest first. */
  readonly #offers = new Map<Place, Offered>();
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(options: EvictionOptions<Place>) {
    this.#options = options;
  }

  offer(place: Place, tenant: string, { ownMs, othersMs }: Offer): void {
    const { evict, changeMs } = this.#options;
    if (evict === "never") return;
    const since = monotonic();
    const from = (ms: number) => since + Math.max(0, ms + changeMs);
    this.#offers.delete(place);
    this.#offers.set(place, { tenant, since, ownFrom: from(ownMs), othersFrom: from(othersMs) });
    this.#lookAt(since + LOOK_MS);
  }

  withdraw(place: Place): void {
    this.#offers.delete(place);
  }

  withdrawIf(isGone: (place: Place) => boolean): void {
    for (const place of this.#offers.keys()) if (isGone(place)) this.#offers.delete(place);
  }

  /** How many programs wait in places that they may lose. */
  get size(): number {
    return this.#offers.size;
  }

  /**
   * The place that is taken next for a program of `taker`. It is a place of the tenant that has the most, by `losable`, which
   * gives 0 for a tenant that may lose none; of these, one whose replay takes little, and whose program has waited longest.
   * If none may be taken yet, `onChange` is called once one may be taken.
   */
  next(taker: string, losable: (tenant: string) => number): Place | undefined {
    const now = monotonic();
    let best: { readonly place: Place; readonly most: number; readonly isDear: boolean } | undefined;
    for (const [place, { tenant, ownFrom, othersFrom }] of this.#offers) {
      const most = losable(tenant);
      const from = tenant === taker ? ownFrom : othersFrom;
      if (most > 0 && from > now) this.#lookAt(from);
      if (most === 0 || from > now) continue;
      const isDear = ownFrom === Infinity;
      if (!best || most > best.most || (most === best.most && best.isDear && !isDear)) best = { place, most, isDear };
    }
    return best?.place;
  }

  close(): void {
    this.#offers.clear();
    this.#stop();
  }

  #lookAt(time: number): void {
    if (time >= this.#timerAt) return;
    this.#stop();
    this.#timerAt = time;
    this.#timer = after(time - monotonic(), () => this.#look()).unref();
  }

  #stop(): void {
    cancel(this.#timer);
    this.#timerAt = Infinity;
  }

  #look(): void {
    const { onChange, isShort } = this.#options;
    this.#stop();
    if (this.#offers.size > 0) this.#watchMemory(isShort(), monotonic());
    onChange();
  }

  /** While memory is short, the programs that have waited longest give up their places, one after the other. */
  #watchMemory(isShort: boolean, now: number): void {
    this.#lookAt(now + (isShort ? SHORT_MS : LOOK_MS));
    if (!isShort) return;
    for (const [place, { since, ownFrom }] of this.#offers)
      if (Math.max(ownFrom, since + LOOK_MS) <= now) return this.#options.onDue(place);
  }
}
