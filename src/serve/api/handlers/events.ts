import type { ExecutionId } from "../../../base/index.ts";
import { readHeader } from "../../../journal/reading/index.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import { whenOver } from "../../http/when-over.ts";
import { eventStream, type EventStreamParts, parseEventId } from "../../live/event-stream.ts";
import type { LiveStreamParts } from "../../live/live-stream.ts";
import { viewStream } from "../../live/view-stream.ts";
import { type ApiParts, type ApiRequest, ownReadable, refuseOfAnother } from "../parts.ts";
import { FOR_CLIENTS } from "./reads.ts";

/** What a stream holds beside what its reader holds: a chunk of events, twice while it is encoded. */
const STREAM_BYTES = 256 * 1024;

/** `GET /v1/executions/:id/events`: server-sent events, from the event after `Last-Event-ID` on. */
export async function events(parts: ApiParts, request: ApiRequest<unknown, unknown>): Promise<Response> {
  const { key, id, headers } = request;
  const { runtime, ids } = parts;
  const last = headers.get("last-event-id") ?? "";
  const after = parseEventId(last);
  if (last !== "" && !after)
    throw new RequestProblem(
      "request_invalid",
      "The header Last-Event-ID is not the id of an event: send the last `id` that you received.",
    );
  const execution = await ownReadable(parts, key, id);
  const { ended, records } = await runtime.journal.find(execution);
  // An EventSource that is told so does not ask again.
  if (ended && after && after.record >= records - 1) return new Response(null, { status: 204 });
  return streamed(parts, key, execution, (live) => eventStream({ ...live, ids, after }));
}

/** `GET /v1/executions/:id/view/events`: the view of an execution, then its changes. */
export async function viewEvents(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  const execution = await ownReadable(parts, key, id);
  return streamed(parts, key, execution, (live) => viewStream({ ...live, ids: parts.ids, bounds: FOR_CLIENTS }));
}

type Live = LiveStreamParts & Pick<EventStreamParts, "journal" | "tenant">;

/** The answer with a stream, which counts until it is over. */
async function streamed(
  parts: ApiParts,
  key: Key,
  execution: ExecutionId,
  open: (live: Live) => ReadableStream<Uint8Array>,
): Promise<Response> {
  const { runtime, watch, closing, readings, keys, onError } = parts;
  const header = await readHeader(runtime.journal, execution, key);
  let seen = 0;
  // A conversation may get tools while it is followed.
  const checked = async <Value>(read: () => Promise<Value>) => {
    const value = await read();
    if (header) seen = await refuseOfAnother(parts, key, header, seen);
    return value;
  };
  // Counts what the stream holds, until it is over.
  let release = parts.open.hold(key, STREAM_BYTES, ADVICE);
  let isOver = false;
  const stream = open({
    journal: runtime.journal,
    watch,
    execution,
    tenant: key.tenant,
    allowed: keys.signalOf(key),
    inTurn: (read) => readings.run(key.id, undefined, () => checked(read)),
    hold: (bytes) => {
      release();
      if (!isOver) release = parts.open.hold(key, STREAM_BYTES + bytes, ADVICE);
    },
    signal: closing,
    onError,
  });
  parts.metrics.addStreams(1);
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
  return whenOver(new Response(stream, { headers }), () => {
    isOver = true;
    release();
    parts.metrics.addStreams(-1);
  });
}

/** How a client makes room for another stream. */
const ADVICE = "end streams";
