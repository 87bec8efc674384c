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
  const held = new GrowingBytes(open, key.id, STREAM_BYTES);
  const shown = ids.shown(key.tenant, execution);
  const isAllowed = () => isCurrent(key);
  const { journal } = runtime;
  const { tenant } = key;
  const stream = eventStream({
    journal,
    watch,
    execution,
    tenant,
    shown,
    after,
    isAllowed,
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

/** Bytes of a key that grow and shrink. */
class GrowingBytes {
  readonly #open: BytesByKey;
  readonly #key: string;
  #bytes = 0;
  #release: (() => void) | undefined;
  #isOver = false;

  /** Throws a `RequestProblem` if the key holds too much already. */
  constructor(open: BytesByKey, key: string, bytes: number) {
    this.#open = open;
    this.#key = key;
    this.become(bytes);
  }

  /** Holds this many bytes in place of the bytes before. Throws a `RequestProblem` if the key then holds too much. */
  become(bytes: number): void {
    if (this.#isOver || bytes === this.#bytes) return;
    this.#release?.();
    this.#release = this.#open.hold(this.#key, bytes, "end streams");
    this.#bytes = bytes;
  }

  end(): void {
    this.#isOver = true;
    this.#release?.();
  }
}
