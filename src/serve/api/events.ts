import { RequestProblem } from "../http/problems.ts";
import { whenOver } from "../http/when-over.ts";
import { eventStream, parseEventId } from "../live/event-stream.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "./parts.ts";

/** What a stream holds: a chunk of events, twice while it is encoded, and what it knows of open calls. */
const STREAM_BYTES = 256 * 1024;

/** `GET /v1/executions/:id/events`: server-sent events, from the one after `Last-Event-ID` on. */
export async function events(parts: ApiParts, { key, id, headers }: ApiRequest<unknown, unknown>): Promise<Response> {
  const { runtime, watch, ids, open, closing, isCurrent, onError } = parts;
  const last = headers.get("last-event-id");
  const after = last === null || last === "" ? undefined : parseEventId(last);
  if (last !== null && last !== "" && !after)
    throw new RequestProblem(
      "request_invalid",
      "The header Last-Event-ID is not the id of an event: send the last `id` that you received.",
    );
  const execution = await ownExecution(parts, key, id);
  const { ended, records } = await runtime.journal.find(execution);
  // An EventSource that is told so does not ask again.
  if (ended && after && after.record >= records - 1) return new Response(null, { status: 204 });
  const over = open.begin(key.id, STREAM_BYTES);
  if (!over)
    throw new RequestProblem(
      "too_many_at_once",
      "The open requests of this key hold too many bytes: end streams, then try again.",
    );
  const shown = ids.shown(key.tenant, execution);
  const isAllowed = () => isCurrent(key);
  const { journal } = runtime;
  const { tenant } = key;
  const stream = eventStream({ journal, watch, execution, tenant, shown, after, isAllowed, signal: closing, onError });
  parts.streams.add(1);
  const done = () => {
    over();
    parts.streams.add(-1);
  };
  return whenOver(
    new Response(stream, { headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" } }),
    done,
  );
}
