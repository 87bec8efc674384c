import { type ResultLimits, setImmediate, type Share } from "../../base/index.ts";
import type { OpenCall } from "../open-call.ts";
import type { HandlerAnswer } from "../answer.ts";
import * as sentences from "../sentences.ts";
import type { Batch, StreamReader } from "./stream-reader.ts";
import type { StreamRun } from "./stream-run.ts";

/** Reads a stream for a caller that gets its items as one array, within the limits of one result. */
export function gatheredItems({ tool, handling }: OpenCall, { resultBytes, resultValues }: ResultLimits, share: Share) {
  const texts: string[] = [];
  let items = 0;
  let bytes = 1;
  let values = 1;
  let heldBytes = 0;
  const reader: StreamReader = {
    get handed() {
      return { items, bytes: bytes - 1 };
    },

    take(batch: Batch): void {
      heldBytes += batch.heldBytes;
      texts.push(batch.body.slice(1, -1));
      bytes += batch.bytes;
      items += batch.count;
      values += batch.values;
      const { stream } = handling;
      if (bytes > resultBytes) stream?.fail(sentences.streamTooLarge(tool.name, items, bytes, resultBytes));
      else if (values > resultValues)
        stream?.fail(sentences.resultTooLarge(tool.name, "resultValues", values, resultValues));
      // A handler that yields at once would else keep the thread until its last item.
      else setImmediate(() => stream?.more());
    },
  };
  const read = async (stream: StreamRun): Promise<HandlerAnswer | undefined> => {
    const handled = await stream.run();
    share.giveBack(heldBytes);
    if (!handled || !("shape" in handled)) return handled;
    const answer = { ok: true, text: `[${texts.join(",")}]`, bytes: Math.max(2, bytes) } as const;
    return { answer, shape: `array of ${items}` };
  };
  return { reader, read };
}
