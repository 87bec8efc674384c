import { Closing } from "../../src/sandboxes/closing.ts";
import type { Exit, Guest, Offer, OpenOptions, Sandbox } from "../../src/sandboxes/sandbox.ts";

/** When the guest of a program that waits is evicted: at once, after what is under way, later, or not. */
export type EvictionMoment = "now" | "soon" | "later" | "never";

export interface EvictingSandbox extends Sandbox {
  /** How many guests were evicted. */
  readonly evicted: () => number;
  /** The options of each guest that was opened. */
  readonly opened: readonly OpenOptions[];
}

/**
 * The same sandbox, which evicts guests for `taker` whenever `momentOf` says so. It is called with the number of the offer,
 * from 0, and the offer.
 */
export function evicting(
  sandbox: Sandbox,
  momentOf: (number: number, offer: Offer) => EvictionMoment = () => "now",
  taker: "own" | "others" = "own",
): EvictingSandbox {
  const closing = new Closing();
  const opened: OpenOptions[] = [];
  let offers = 0;
  let evicted = 0;
  return {
    name: sandbox.name,
    languages: sandbox.languages,
    evicted: () => evicted,
    opened,
    async open(options, signal) {
      if (closing.isOver) throw new Error("the sandbox was closed");
      opened.push(options);
      const guest = await sandbox.open(options, signal);
      return withOffers(
        guest,
        closing,
        (offer) => (offer[`${taker}Ms`] === Number.POSITIVE_INFINITY ? "never" : momentOf(offers++, offer)),
        () => (evicted += 1),
      );
    },
    async [Symbol.asyncDispose]() {
      if (closing.isOver) return;
      closing.close();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function withOffers(
  guest: Guest,
  closing: Closing,
  moment: (offer: Offer) => EvictionMoment,
  onEvicted: () => void,
): Guest {
  let isOffered = false;
  let isEvicted = false;
  const evict = () => {
    if (!isOffered) return;
    isEvicted = true;
    onEvicted();
    guest.kill("evicted");
  };
  return {
    frames: guest.frames,
    exit: guest.exit.then((exit): Exit => (isEvicted ? { type: "evicted", closing } : exit)),
    usage: () => guest.usage(),
    send(frames) {
      isOffered = false;
      if (!isEvicted) guest.send(frames);
    },
    offer(offer) {
      isOffered = true;
      const when = moment(offer);
      if (when === "now") evict();
      else if (when === "soon") queueMicrotask(evict);
      else if (when === "later") setImmediate(evict);
    },
    kill: (reason) => guest.kill(reason),
    release: () => guest.release(),
    [Symbol.asyncDispose]: () => guest[Symbol.asyncDispose](),
  };
}
