import type { Lane } from "../../values/slice-scheduler.ts";
import { BATCH_BYTES } from "./next-batch.ts";
import type { Batch } from "./stream-reader.ts";

/** Items before and after a batch that are searched with it. A private key of 8,192 bits has some 110 lines. */
const ITEMS_AROUND = 256;

/** Takes out of batches what must not leave. Each is searched with the items around it: a secret may begin in one batch and end in the next. */
export class RedactedBatches {
  readonly #redact: (json: string) => Promise<string>;
  readonly #lane: Lane;
  /** The last items of the batch before, as the tool gave them. */
  #before: readonly unknown[] = [];

  constructor(redact: (json: string) => Promise<string>, lane: Lane) {
    this.#redact = redact;
    this.#lane = lane;
  }

  /**
   * The items of a batch. `next` follows it, if that has arrived. If the batch cannot be redacted, each item is the mark
   * that says so.
   */
  async itemsOf(batch: Batch, next: Batch | undefined): Promise<readonly unknown[]> {
    const { body, count } = batch;
    const before = this.#before;
    const all = await this.#lane.run(() => {
      const own = listOf(body);
      this.#before = isSmall(batch) ? own.slice(-ITEMS_AROUND) : [];
      const after = next && isSmall(next) ? listOf(next.body).slice(0, ITEMS_AROUND) : [];
      return JSON.stringify([...before, ...own, ...after]);
    });
    const redacted = await this.#redact(all);
    const read = await this.#lane.run(() => JSON.parse(redacted) as unknown);
    if (Array.isArray(read)) return (read as readonly unknown[]).slice(before.length, before.length + count);
    return Array.from({ length: count }, () => read);
  }
}

function listOf(body: string): readonly unknown[] {
  return JSON.parse(body) as readonly unknown[];
}

/** Whether it is no single item of any size. Such an item is searched without others, and not with others. */
function isSmall({ bytes }: Batch): boolean {
  return bytes <= BATCH_BYTES;
}
