import { ignore } from "../../base/index.ts";
import type { BytesByKey, Holder } from "./bytes-by-key.ts";
import { RequestProblem } from "./problems.ts";
import { whenOver } from "./when-over.ts";

/** Answers with fewer bytes are not counted: a connection has one such answer at a time. */
const COUNTED_BYTES = 32 * 1024;

export interface CountedFor {
  readonly open: BytesByKey;
  readonly key: Holder;
}

/** Whether the body of a response goes on while its client reads it. */
export function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/**
 * An answer that is there as a whole. It counts as held by the key until its client has read it. Rejects with a
 * `RequestProblem` if the key holds too much.
 */
export async function countedAnswer(response: Response, holder: CountedFor): Promise<Response> {
  if (!response.body) return response;
  const length = response.headers.get("content-length");
  if (length !== null) return whenOver(response, holdAnswer(Number(length), holder));
  const bytes = new Uint8Array(await response.arrayBuffer());
  const whole = new Response(bytes, response);
  if (bytes.length < COUNTED_BYTES) return whole;
  return whenOver(whole, holdAnswer(bytes.length, holder));
}

/** Counts the bytes of an answer as held by the key, until the function that it returns is called. Throws as `countedAnswer` rejects. */
export function holdAnswer(bytes: number, { open, key }: CountedFor): () => void {
  const release = open.begin(key, bytes);
  if (release) return release;
  throw tooMuch(open, bytes);
}

export interface CountedStream extends CountedFor {
  /** Called before the first part is counted: what was counted for it beforehand is given back. */
  readonly onFirst?: (() => void) | undefined;
  /** The last part of a stream that holds too much, in place of what does not fit. */
  readonly refusal: (problem: RequestProblem) => string;
}

interface Part {
  readonly bytes: Uint8Array;
  readonly release: () => void;
}

/**
 * A stream whose source does not wait for its client, like the streams of the protocol's package. All that is unread
 * counts as held by the key. If that is too much, the stream ends with a refusal.
 */
export function countedStream(response: Response, { open, key, onFirst, refusal }: CountedStream): Response {
  if (!response.body) return response;
  const source = response.body.getReader();
  const unread: Part[] = [];
  let lastPart: Part | undefined;
  let fault: { readonly error: unknown } | undefined;
  let isOver = false;
  let wake = () => {};
  const fill = async () => {
    for (let isFirst = true; ; isFirst = false) {
      const { done, value } = await source.read();
      if (done || isOver) return;
      if (isFirst) onFirst?.();
      const release = open.begin(key, value.length, PART_BYTES);
      if (!release) {
        const problem = tooMuch(open, value.length);
        unread.push({ bytes: new TextEncoder().encode(refusal(problem)), release: () => {} });
        return void source.cancel(problem).catch(ignore);
      }
      unread.push({ bytes: value, release });
      wake();
    }
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start() {
        fill()
          .catch((error: unknown) => void (fault = { error }))
          .finally(() => {
            isOver = true;
            wake();
          });
      },
      async pull(controller) {
        lastPart?.release();
        if (unread.length === 0 && !isOver) await new Promise<void>((resolve) => void (wake = resolve));
        lastPart = unread.shift();
        if (lastPart) controller.enqueue(lastPart.bytes);
        else if (fault) throw fault.error;
        else controller.close();
      },
      async cancel(reason) {
        isOver = true;
        lastPart?.release();
        for (const { release } of unread.splice(0)) release();
        await source.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}

/** What a part of a stream counts beside its bytes. */
const PART_BYTES = 256;

function tooMuch(open: BytesByKey, bytes: number): RequestProblem {
  return open.canHold(bytes)
    ? new RequestProblem(
        "too_many_at_once",
        "The open requests of this key hold too many bytes, so this answer was dropped. What was asked for may have been done. Read the other answers, then look.",
      )
    : new RequestProblem(
        "answer_too_large",
        `The answer has ${bytes} bytes, more than the server gives at once. What was asked for may have been done. Let programs fetch and keep smaller parts.`,
      );
}
