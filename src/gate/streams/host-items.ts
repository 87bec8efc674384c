import { after, cancel, nextTurn, pause, PortcullisError, type Share, type Timer } from "../../base/index.ts";
import type { StoredPart } from "../../tools/content.ts";
import type { FailureCode, RefusalCode } from "../answer.ts";
import type { Batch, StreamProgress, StreamReader } from "./stream-reader.ts";
import { BATCH_BYTES } from "./next-batch.ts";

/** Why a call has no value, or its stream no further items. `message` is for the caller: a model may read it. */
export interface CallFailure {
  readonly ok: false;
  /** `cancelled`: the call was cancelled before it had an answer. */
  readonly code: RefusalCode | FailureCode | "cancelled";
  readonly message: string;
  /** What the tool gave with its failure. */
  readonly value?: unknown;
  readonly parts?: readonly StoredPart[];
  /** Where that comes from, as the tool says. */
  readonly from?: string;
}

export interface HostItemsParts {
  readonly tool: string;
  readonly share: Share;
  /** How long the items wait for the host to begin to read them, in milliseconds. */
  readonly unreadMs: number;
  /** Called with the first batch. A stream that fails before it has no items. */
  readonly onBegun: (items: HostItems) => void;
  readonly more: () => void;
  /** Ends the stream, because the host reads no more of it. */
  readonly stop: () => void;
  /** The end of all work on the call: the journal has it. */
  readonly recorded: () => Promise<unknown>;
  /** Takes out of JSON text what must not leave. */
  readonly redact: ((json: string) => Promise<string>) | undefined;
}

/** How long a batch waits for the one after it, with which it is searched for what must not leave, in milliseconds. */
const NEXT_MS = 50;

/**
 * The items of a call for the host itself, which reads them once, by `for await`. The batches here are the one that is read,
 * and those that came since it was begun.
 */
export class HostItems implements StreamReader, AsyncIterable<unknown> {
  readonly #parts: HostItemsParts;
  readonly #batches: Batch[] = [];
  #handed: StreamProgress = { items: 0, bytes: 0 };
  #changed = Promise.withResolvers<void>();
  #unread: Timer | undefined;
  #isRead = false;
  /** The call has ended, as said. Items that were given before it ended may be here. */
  #ending: { readonly failure: CallFailure | undefined } | undefined;
  /** Resolved once the host reads no more: it has read all items, has left its loop, or the call was cancelled. */
  readonly #over = Promise.withResolvers<void>();
  #isOver = false;
  #isStopped = false;
  /** Whether the iterator has waited for the journal. */
  #isTold = false;
  /** With `redact`: the last items of the batch before, as the tool gave them. */
  #before: readonly unknown[] = [];

  constructor(parts: HostItemsParts) {
    this.#parts = parts;
  }

  get handed(): StreamProgress {
    return this.#handed;
  }

  /** Whether the host has left its loop before the end. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  readonly take = (batch: Batch): void => {
    const { onBegun, share, tool, unreadMs } = this.#parts;
    if (this.#isOver) return share.giveBack(batch.heldBytes);
    const { items, bytes } = this.#handed;
    this.#handed = { items: items + batch.count, bytes: bytes + batch.bytes };
    this.#batches.push(batch);
    this.#wake();
    if (items > 0) return;
    const onUnread = () => {
      this.cancel(`The stream of ${tool} was ended, because its items were not read for ${unreadMs} ms.`);
      this.#parts.stop();
    };
    this.#unread = after(unreadMs, onUnread).unref();
    onBegun(this);
  };

  /** The call has ended. Resolves once the host reads no more. */
  end(failure: CallFailure | undefined): Promise<void> {
    this.#ending ??= { failure };
    if (this.#handed.items === 0) this.#leave();
    this.#wake();
    return this.#over.promise;
  }

  /** The call is ended at once, and items that the host has not read are dropped. */
  cancel(message: string): void {
    if (this.#isOver) return;
    this.#ending = { failure: { ok: false, code: "cancelled", message } };
    this.#leave();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<unknown, undefined> {
    const { tool } = this.#parts;
    if (this.#isRead)
      throw new PortcullisError(
        "stream_misused",
        `The items of ${tool} can be read once, and a loop reads them already. To read them again, collect them: await Array.fromAsync(items).`,
      );
    this.#isRead = true;
    cancel(this.#unread);
    const items = this.#read();
    return {
      next: () => items.next(),
      [Symbol.asyncIterator]() {
        return this;
      },
      // Not the generator's own: it would wait for the item that a `next` before it waits for.
      return: async () => {
        this.#stop();
        await this.#recorded();
        return { done: true, value: undefined };
      },
    };
  }

  async *#read(): AsyncGenerator<unknown, undefined> {
    for (let isFirst = true; !this.#isOver; isFirst = false) {
      const batch = this.#batches.shift();
      if (batch) yield* this.#begin(batch, isFirst);
      else if (this.#ending) this.#leave();
      else await this.#changed.promise;
    }
    await this.#recorded();
    const failure = this.#isStopped ? undefined : this.#ending?.failure;
    if (failure) throw new PortcullisError("stream_failed", failure.message, { cause: failure });
    return undefined;
  }

  /** Gives the items of a batch. One more may come meanwhile. */
  async *#begin(batch: Batch, isFirst: boolean): AsyncGenerator<unknown, undefined> {
    const { more, share } = this.#parts;
    // A handler and a loop that wait for nothing would else keep the thread until the last item.
    if (!isFirst) await nextTurn();
    if (!this.#isOver) more();
    const items = await this.#itemsOf(batch);
    share.giveBack(batch.heldBytes);
    for (const item of items) {
      if (this.#isOver) break;
      yield item;
    }
    return undefined;
  }

  /**
   * The items of a batch. What must not leave is searched with the items around it: a secret may begin in one batch and end in
   * the next. If the batch cannot be redacted, each item is the mark that says so.
   */
  async #itemsOf(batch: Batch): Promise<readonly unknown[]> {
    const { redact, share } = this.#parts;
    if (!redact) return share.lane.run(() => listOf(batch.body));
    if (this.#batches.length === 0 && !this.#ending) await Promise.race([this.#changed.promise, pause(NEXT_MS)]);
    const before = this.#before;
    const [next] = this.#batches;
    const all = await share.lane.run(() => {
      const own = listOf(batch.body);
      this.#before = isSmall(batch) ? own.slice(-ITEMS_AROUND) : [];
      const after = next && isSmall(next) ? listOf(next.body).slice(0, ITEMS_AROUND) : [];
      return JSON.stringify([...before, ...own, ...after]);
    });
    const redacted = await redact(all);
    const read = await share.lane.run(() => JSON.parse(redacted) as unknown);
    if (Array.isArray(read)) return (read as readonly unknown[]).slice(before.length, before.length + batch.count);
    return Array.from({ length: batch.count }, () => read);
  }

  /** Rejects at most once: of an iterator whose `return` always rejects, `Array.fromAsync` of node 24 calls it for ever. */
  async #recorded(): Promise<void> {
    if (this.#isTold) return;
    this.#isTold = true;
    await this.#parts.recorded();
  }

  #stop(): void {
    if (this.#isOver) return;
    this.#isStopped = true;
    this.#leave();
    this.#parts.stop();
  }

  #leave(): void {
    this.#isOver = true;
    cancel(this.#unread);
    for (const { heldBytes } of this.#batches.splice(0)) this.#parts.share.giveBack(heldBytes);
    this.#over.resolve();
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Items before and after a batch that are searched with it. A private key of 8,192 bits has some 110 lines. */
const ITEMS_AROUND = 256;

function listOf(body: string): readonly unknown[] {
  return JSON.parse(body) as readonly unknown[];
}

/** Whether it is no single item of any size. Such an item is searched without others, and not with others. */
function isSmall({ bytes }: Batch): boolean {
  return bytes <= BATCH_BYTES;
}
