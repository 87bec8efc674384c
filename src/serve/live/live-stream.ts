import { addAbortListener } from "node:events";
import { type ExecutionId, monotonic, pause } from "../../base/index.ts";
import { isOperators, problemOf } from "../http/problems.ts";
import type { JournalWatch } from "./journal-watch.ts";

/** Interval of lines without an event, in milliseconds: by them a lost connection is noticed. */
const HEARTBEAT_MS = 15_000;

/** What all streams of events about an execution need. */
export interface LiveStreamParts {
  readonly watch: JournalWatch;
  /** Id in the journal. */
  readonly execution: ExecutionId;
  /** Aborted once the client may read it no more: the stream ends with the reason. */
  readonly allowed: AbortSignal;
  /** Reads when it is the turn of the client's key: a record may be large, and a client may have many streams. */
  readonly inTurn: <Value>(read: () => Promise<Value>) => Promise<Value>;
  /** Counts the bytes that the stream holds from now on. Throws if they are too many, which ends the stream. */
  readonly hold: (bytes: number) => void;
  /** Ends the stream: the server closes. */
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** How often a line is sent while nothing happens, in milliseconds. */
  readonly heartbeatMs?: number;
}

/** What a step of reading the journal gives. */
interface LiveStep {
  /** The next events as they are sent; empty if there are none. */
  readonly text: string;
  /** Bytes that the reader holds until the next step. */
  readonly heldBytes: number;
  /** Of each execution that it reads: number of records that were read. */
  readonly positions: ReadonlyMap<ExecutionId, number>;
  /** All existing records have been read. */
  readonly isAtEnd: boolean;
  /** The last event was given. */
  readonly isOver: boolean;
  /** Shortest time to the next step, in milliseconds; none by default. */
  readonly restMs?: number;
}

/** Reads on, and makes the events of what it has read. */
export type LiveReader = () => Promise<LiveStep>;

/**
 * A stream of server-sent events, from the records that exist and of each record that is appended, to the end of the
 * execution. It reads from the journal what the client takes.
 */
export function liveStream(parts: LiveStreamParts, reader: LiveReader): ReadableStream<Uint8Array> {
  const disconnect = new AbortController();
  const signal = AbortSignal.any([disconnect.signal, parts.signal]);
  const chunks = chunksOf(parts, reader, signal);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        disconnect.abort();
        // The generator may be suspended at a chunk that was read, and would hold its watch for ever.
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Never rejects: a failure of the journal is the last event. */
async function* chunksOf(parts: LiveStreamParts, reader: LiveReader, signal: AbortSignal): AsyncGenerator<string> {
  const { watch, execution, allowed, hold, onError, heartbeatMs = HEARTBEAT_MS } = parts;
  using watching = watch.watch(execution);
  const either = AbortSignal.any([signal, allowed]);
  using _ = addAbortListener(either, () => watching.wake());
  try {
    yield ": portcullis\n\n";
    let saidAt = monotonic();
    for (let isOver = false; !isOver;) {
      allowed.throwIfAborted();
      // What was appended before the server closes is read, also if an earlier step was under way then.
      const isLast = signal.aborted;
      const step = await parts.inTurn(reader);
      hold(step.heldBytes);
      isOver = isLast || step.isOver;
      // There are records that are no events, and records that the client has.
      const isQuiet = monotonic() - saidAt >= heartbeatMs;
      if (step.text !== "" || isQuiet) {
        yield step.text || ": still here\n\n";
        saidAt = monotonic();
      }
      if (!step.isAtEnd || step.isOver) continue;
      if (step.restMs) {
        await pause(step.restMs, { signal: either });
        if (signal.aborted) return;
        if (allowed.aborted) continue;
      }
      await watching.wait(step.positions, Math.max(1, saidAt + heartbeatMs - monotonic()));
    }
  } catch (error) {
    const problem = problemOf(error);
    // An execution that was deleted meanwhile is no failure of the host.
    if (isOperators(problem)) onError(error);
    const { code, message } = problem;
    yield `event: error\ndata: ${JSON.stringify({ error: { code, message } })}\n\n`;
  }
}
