import type { BytesByKey } from "../../http/bytes-by-key.ts";
import { RequestProblem } from "../../http/problems.ts";
import { whenOver } from "../../http/when-over.ts";
import { eventStream, parseEventId } from "../../live/event-stream.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "../parts.ts";

/** What a stream holds beside open calls: a chunk of events, twice while it is encoded. */
const STREAM_BYTES = 256 * 1024;

/** `GET /v1/executions/:id/events`: server-sent events, from the event after `Last-Event-ID` on. */
export async function events(parts: ApiParts, { key, id, headers }: ApiRequest<unknown, unknown>): Promise<Response> {
  const { runtime, watch, ids, open, closing, readings, isCurrent, onError } = parts;
  const last = headers.get("last-event-id") ?? "";
  const after = parseEventId(last);
  if (last !== "" && !after)
    throw new RequestProblem(
      "request_invalid",
      "The header Last-Event-ID is not the id of an event: send the last `id` that you received.",
    );
  const execution = await ownExecution(parts, key, id);
  const { ended, records } = await runtime.journal.find(execution);
  // An EventSource that is told so does not ask again.
  if (ended && after && after.record >= records - 1) return new Response(null, { status: 204 });
  const held = growingBytes(open, key.id);
  held.become(STREAM_BYTES);
  const stream = eventStream({
    journal: runtime.journal,
    watch,
    execution,
    tenant: key.tenant,
    shown: ids.shown(key.tenant, execution),
    after,
    isAllowed: () => isCurrent(key),
    inTurn: (read) => readings.run(key.id, undefined, read),
    hold: (bytes) => held.become(STREAM_BYTES + bytes),
    signal: closing,
    onError,
  });
  parts.metrics.addStreams(1);
  const done = () => {
    held.end();
    parts.metrics.addStreams(-1);
  };
  return whenOver(
    new Response(stream, { headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" } }),
    done,
  );
}

/** Bytes of a key that grow and shrink, until their end. `become` throws a `RequestProblem` if the key holds too much. */
function growingBytes(open: BytesByKey, key: string) {
  let held = 0;
  let isOver = false;
  let release = () => {};
  return {
    become(bytes: number): void {
      if (isOver || bytes === held) return;
      release();
      release = open.hold(key, bytes, "end streams");
      held = bytes;
    },
    end(): void {
      isOver = true;
      release();
    },
  };
}
