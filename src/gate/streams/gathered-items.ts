import { type ResultLimits, setImmediate, type Share } from "../../base/index.ts";
import type { OpenCall } from "../open-call.ts";
import type { HandlerAnswer } from "../answer.ts";
import * as sentences from "../sentences.ts";
import type { Batch, OpenStream, StreamProgress, StreamReader } from "./stream-reader.ts";
import type { StreamRun } from "./stream-run.ts";

/** Reads a stream for a caller that gets its items as one array, within the limits of one result. */
export class GatheredItems implements StreamReader {
  readonly #call: OpenCall;
  readonly #limits: ResultLimits;
  readonly #share: Share;
  readonly #texts: string[] = [];
  #count = 0;
  #bytes = 1;
  #values = 1;
  #heldBytes = 0;

  constructor(call: OpenCall, limits: ResultLimits, share: Share) {
    this.#call = call;
    this.#limits = limits;
    this.#share = share;
  }

  get handed(): StreamProgress {
    return { items: this.#count, bytes: this.#bytes - 1 };
  }

  readonly take = (batch: Batch): void => {
    const { resultBytes, resultValues } = this.#limits;
    const { name } = this.#call.tool;
    this.#heldBytes += batch.heldBytes;
    this.#texts.push(batch.body.slice(1, -1));
    this.#bytes += batch.bytes;
    this.#count += batch.count;
    this.#values += batch.values;
    if (this.#bytes > resultBytes)
      this.#stream?.fail(sentences.streamTooLarge(name, this.#count, this.#bytes, resultBytes));
    else if (this.#values > resultValues)
      this.#stream?.fail(sentences.resultTooLarge(name, "resultValues", this.#values, resultValues));
    // A handler that yields at once would else keep the thread until its last item.
    else setImmediate(() => this.#stream?.more());
  };

  async read(stream: StreamRun): Promise<HandlerAnswer | undefined> {
    const handled = await stream.run();
    this.#share.giveBack(this.#heldBytes);
    if (!handled || !("shape" in handled)) return handled;
    const answer = { ok: true, text: `[${this.#texts.join(",")}]`, bytes: Math.max(2, this.#bytes) } as const;
    return { answer, shape: `array of ${this.#count}` };
  }

  get #stream(): OpenStream | undefined {
    return this.#call.handling.stream;
  }
}
