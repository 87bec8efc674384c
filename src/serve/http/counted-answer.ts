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
export async function countedAnswer(response: Response, { open, key }: CountedFor): Promise<Response> {
  if (!response.body) return response;
  const { status, headers } = response;
  const length = headers.get("content-length");
  if (length !== null) return whenOver(response, holdAnswer(Number(length), { open, key }));
  const bytes = new Uint8Array(await response.arrayBuffer());
  const whole = new Response(bytes, { status, headers });
  if (bytes.length < COUNTED_BYTES) return whole;
  return whenOver(whole, holdAnswer(bytes.length, { open, key }));
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

/** A part of a stream that its client has not read. */
interface Part {
  readonly bytes: Uint8Array;
  readonly release: () => void;
}

/**
 * A stream whose source does not wait for its client, like the streams of the protocol's package. All that is unread
 * counts as held by the key. If that is too much, the stream ends with a refusal.
 */
export function countedStream(response: Response, options: CountedStream): Response {
  if (!response.body) return response;
  const unread = new UnreadParts(response.body.getReader(), options);
  const body = new ReadableStream<Uint8Array>(
    {
      start: () => void unread.fill(),
      async pull(controller) {
        const part = await unread.next();
        if (part) controller.enqueue(part);
        else controller.close();
      },
      cancel: (reason) => unread.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const { status, headers } = response;
  return new Response(body, { status, headers });
}

class UnreadParts {
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  readonly #options: CountedStream;
  readonly #parts: Part[] = [];
  #given: Part | undefined;
  #wake = () => {};
  #isFirst = true;
  #isOver = false;
  #fault: { readonly error: unknown } | undefined;

  constructor(source: ReadableStreamDefaultReader<Uint8Array>, options: CountedStream) {
    this.#source = source;
    this.#options = options;
  }

  /** Reads the source to its end. Never rejects. */
  async fill(): Promise<void> {
    try {
      while (!this.#isOver) {
        const { done, value } = await this.#source.read();
        if (done) break;
        if (!this.#isOver) this.#take(value);
      }
    } catch (error) {
      this.#fault = { error };
    }
    this.#isOver = true;
    this.#wake();
  }

  /** Undefined at the end. The part before counts no more. Rejects as the source does. */
  async next(): Promise<Uint8Array | undefined> {
    this.#given?.release();
    this.#given = undefined;
    while (this.#parts.length === 0 && !this.#isOver) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    this.#given = this.#parts.shift();
    if (!this.#given && this.#fault) throw this.#fault.error;
    return this.#given?.bytes;
  }

  async cancel(reason: unknown): Promise<void> {
    this.#isOver = true;
    this.#given?.release();
    for (const { release } of this.#parts.splice(0)) release();
    this.#wake();
    await this.#source.cancel(reason);
  }

  #take(bytes: Uint8Array): void {
    const { open, key, onFirst, refusal } = this.#options;
    if (this.#isFirst) onFirst?.();
    this.#isFirst = false;
    const release = open.begin(key, bytes.length, PART_BYTES);
    if (release) this.#parts.push({ bytes, release });
    else {
      const problem = tooMuch(open, bytes.length);
      this.#parts.push({ bytes: new TextEncoder().encode(refusal(problem)), release: () => {} });
      this.#isOver = true;
      this.#source.cancel(problem).catch(() => {});
    }
    this.#wake();
  }
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
