import type { ExecutionId } from "../../../base/index.ts";
import { readHeader } from "../../../journal/reading/index.ts";
import { RequestProblem } from "../../http/problems.ts";
import { whenOver } from "../../http/when-over.ts";
import { eventStream, type EventStreamParts, parseEventId } from "../../live/event-stream.ts";
import type { LiveStreamParts } from "../../live/live-stream.ts";
import { viewStream } from "../../live/view-stream.ts";
import { type ApiRequest, ownReadable, refuseOfOtherKey } from "../parts.ts";
import { FOR_CLIENTS } from "./reads.ts";

/** What a stream holds beside what its reader holds: a chunk of events, twice while it is encoded. */
const STREAM_BYTES = 256 * 1024;

/** `GET /v1/executions/:id/events`: server-sent events, from the event after `Last-Event-ID` on. */
export async function events(request: ApiRequest): Promise<Response> {
  const { runtime, ids } = request;
  const last = request.headers.get("last-event-id") ?? "";
  const after = parseEventId(last);
  if (last !== "" && !after)
    throw new RequestProblem(
      "request_invalid",
      "The header Last-Event-ID is not the id of an event: send the last `id` that you received.",
    );
  const execution = await ownReadable(request);
  const { ended, records } = await runtime.journal.find(execution);
  // An EventSource that is told so does not ask again.
  if (ended && after && after.record >= records - 1) return new Response(null, { status: 204 });
  return streamed(request, execution, (live) => eventStream({ ...live, ids, after }));
}

/** `GET /v1/executions/:id/view/events`: the view of an execution, then its changes. */
export async function viewEvents(request: ApiRequest): Promise<Response> {
  const execution = await ownReadable(request);
  return streamed(request, execution, (live) => viewStream({ ...live, ids: request.ids, bounds: FOR_CLIENTS }));
}

type Live = LiveStreamParts & Pick<EventStreamParts, "journal" | "tenant">;

/** The answer with a stream, which counts until it is over. */
async function streamed(
  request: ApiRequest,
  execution: ExecutionId,
  open: (live: Live) => ReadableStream<Uint8Array>,
): Promise<Response> {
  const { runtime, watch, closing, readings, keys, key, metrics, open: counted, onError } = request;
  const header = await readHeader(runtime.journal, execution, key);
  let seen = 0;
  // A conversation may get tools while it is followed.
  const checked = async <Value>(read: () => Promise<Value>) => {
    const value = await read();
    if (header) seen = await refuseOfOtherKey(request, header, seen);
    return value;
  };
  // Counts what the stream holds, until it is over.
  let release = counted.hold(key, STREAM_BYTES, ADVICE);
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
      if (!isOver) release = counted.hold(key, STREAM_BYTES + bytes, ADVICE);
    },
    signal: closing,
    onError,
  });
  metrics.addStreams(1);
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
  return whenOver(new Response(stream, { headers }), () => {
    isOver = true;
    release();
    metrics.addStreams(-1);
  });
}

/** How a client makes room for another stream. */
const ADVICE = "end streams";
