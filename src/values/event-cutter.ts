import { ByteList } from "./byte-list.ts";

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * Cuts a stream of server-sent events into its events. Parsers search their whole buffer for each chunk, and copy what
 * follows an event: many small chunks, or thousands of events in one chunk, would take quadratic time.
 */
export class EventCutter {
  readonly #held = new ByteList();
  /** Consecutive line ends: two of them end an event. */
  #lineEnds = 0;
  #afterReturn = false;

  get heldBytes(): number {
    return this.#held.bytes;
  }

  /** Takes a chunk and returns the events that it completes. */
  push(chunk: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    let start = 0;
    // An iterator over the bytes, and fields in place of these variables, would take ten times as long.
    let lineEnds = this.#lineEnds;
    let afterReturn = this.#afterReturn;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const isSecondHalf = byte === LINE_FEED && afterReturn;
      afterReturn = byte === CARRIAGE_RETURN;
      if (isSecondHalf) continue;
      // Only the next byte shows whether a carriage return was the whole line end.
      if (lineEnds >= 2) {
        events.push(this.#cut(chunk.subarray(start, at)));
        start = at;
        lineEnds = 0;
      }
      lineEnds = byte === LINE_FEED || afterReturn ? lineEnds + 1 : 0;
    }
    this.#lineEnds = lineEnds;
    this.#afterReturn = afterReturn;
    // A complete event is passed on without waiting for the next chunk.
    const rest = chunk.subarray(start);
    if (this.#lineEnds >= 2 && !this.#afterReturn) {
      events.push(this.#cut(rest));
      this.#lineEnds = 0;
    } else this.#held.add(rest);
    return events;
  }

  /** Returns what followed the last event. */
  end(): Uint8Array {
    return this.#cut(new Uint8Array());
  }

  #cut(last: Uint8Array): Uint8Array {
    return this.#held.bytes === 0 ? last : this.#held.take(last);
  }
}
