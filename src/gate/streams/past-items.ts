import { createHash, type Hash } from "node:crypto";
import type { StreamProgress } from "./stream-reader.ts";

/** What the journal holds of a stream that another driver has left open. */
export interface StreamPast extends StreamProgress {
  readonly batches: number;
  /** How often the program has asked for one more batch. */
  readonly asked: number;
  /** JSON text of the last item; undefined if the journal does not hold it. */
  readonly last?: string | undefined;
  /** `digestOf` the items, in hex. */
  readonly digest?: string | undefined;
}

/** A digest of items, which does not depend on how they were put into batches. */
export class ItemsDigest {
  readonly #hash: Hash = createHash("sha256");

  /** Adds the items of a batch: its JSON array without the brackets. */
  add(items: string): void {
    this.#hash.update(items).update(",");
  }

  get hex(): string {
    return this.#hash.copy().digest("hex");
  }
}

/**
 * The items of a stream that are in the journal, if they are given again. `goesOn`: whether the handler has asked where to go on.
 * It is asked once there is an item.
 */
export function pastItems(past: StreamPast | undefined, goesOn: () => boolean) {
  let digest: ItemsDigest | undefined;
  let isDecided = false;
  let skipped = 0;
  const self = {
    get skipped(): number {
      return skipped;
    },

    get isSkipping(): boolean {
      if (!isDecided) {
        isDecided = true;
        if (past && past.items > 0 && !goesOn()) digest = new ItemsDigest();
      }
      return digest !== undefined && skipped < (past?.items ?? 0);
    },

    /** Takes the text of an item that is yielded again. False if the items are not those of the journal. */
    skip(text: string): boolean {
      digest?.add(text);
      skipped += 1;
      return self.isSkipping || digest?.hex === past?.digest;
    },
  };
  return self;
}

export type PastItems = ReturnType<typeof pastItems>;
