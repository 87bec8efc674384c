/*
 * The stream that answers a call. The items of the handler's iterable come in; they leave in batches, as its reader asks
 * for them, and what ended the stream goes out last.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { after, cancel, ignore, isAnyObject, monotonic, setImmediate, type Timer } from "../../base/index.ts";
import type { FailedAnswer, Failure, HandlerAnswer } from "../answer.ts";
import { OVER } from "../call-end.ts";
import { isThenable, thrownReason, awaitPromise, thrownFailure } from "../run/run-handler.ts";
import type { UnreadAnswers } from "../run/unread-answers.ts";
import * as sentences from "../sentences.ts";
import { type ItemParts, itemText } from "./item-text.ts";
import { BATCH_ITEMS, type ItemText, nextBatch, type NextBatch } from "./next-batch.ts";
import {
  NEWS_MS,
  type OpenStream,
  type StreamProgress,
  streamEnded,
  StreamNews,
  type StreamReader,
} from "./stream-reader.ts";
import { pastItems, type PastItems, type StreamPast } from "./past-items.ts";

/** Batches that wait for the reader once it has begun to read: while it reads one the next is made. */
const BATCHES_AHEAD = 2;
/** Items at the beginning of a stream from which is learned what items are like. */
const LOOKED_AT = 200;
/** Why a stream ended whose reader had enough of it. */
export const STOPPED = "The program reads no more of the stream.";

interface StreamParts extends ItemParts {
  readonly items: AsyncIterable<unknown> | Iterable<unknown>;
  readonly reader: StreamReader;
  readonly limits: ItemParts["limits"] & { readonly streamBytes?: number | undefined };
  readonly unread?: UnreadAnswers | undefined;
  /** Told how far the stream is, a few times a second at most. */
  readonly onNews?: (() => void) | undefined;
  /** Learns from the items what they are like. */
  readonly observe: (text: string) => void;
}

type Step = IteratorResult<unknown>;
type Next = Step | PromiseLike<Step>;

/**
 * Pulls items while its reader has asked for a batch that has not left. So a reader that is slow holds up the handler,
 * and nothing collects here. Each item is checked and becomes text on its own.
 */
export class StreamRun implements OpenStream {
  readonly #parts: StreamParts;
  readonly #past: PastItems;
  readonly #batch: NextBatch;
  readonly #ended = Promise.withResolvers<HandlerAnswer>();
  #iterator: { next(): Next; return?(): unknown } | undefined;
  #inContext: ReturnType<typeof AsyncLocalStorage.snapshot> = (run, ...values) => run(...values);
  /** How often the reader has asked for a batch, which it does when it begins to read one. */
  #asked: number;
  #sent: number;
  #progress: StreamProgress;
  /** `pulling`: the handler was asked for an item. `making`: an item becomes text. */
  #state: "idle" | "pulling" | "making" | "over" = "idle";
  /** Whether the batch waits for the reader to read answers of other calls. */
  #waitsForRoom = false;
  #last: (() => HandlerAnswer) | undefined;
  readonly #news: StreamNews;
  #telling: Timer | undefined;
  /** Until the handler was silent for its tool's time, and the time for approvals up to where it was asked for the last item. */
  #listening: Timer | undefined;
  #approvalMs = 0;

  constructor(parts: StreamParts, past: StreamPast | undefined) {
    this.#parts = parts;
    this.#past = pastItems(past, () => parts.call.handling.wasTold === true);
    this.#progress = { items: past?.items ?? 0, bytes: past?.bytes ?? 0 };
    const onLate = () => this.#inContext(() => this.#goOn());
    this.#batch = nextBatch(parts.limits.resultBytes, this.#progress.items === 0, onLate);
    this.#news = new StreamNews(past?.items);
    this.#asked = past?.asked ?? 0;
    this.#sent = past?.batches ?? 0;
  }

  get progress(): StreamProgress {
    return this.#progress;
  }

  tell(): void {
    const { onNews, reader } = this.#parts;
    const { items } = reader.handed;
    if (this.#state === "over" || !onNews || this.#news.knows(items)) return;
    if (this.#news.take(items, monotonic())) onNews();
    else
      this.#telling ??= after(NEWS_MS, () => {
        this.#telling = undefined;
        this.tell();
      });
  }

  takeLastNews(ended: StreamProgress): StreamProgress | undefined {
    return this.#news.take(ended.items, "end") ? ended : undefined;
  }

  /** Gives batches until the handler, the reader or a limit ends the stream. Undefined if the call ends first. Never rejects. */
  run(): Promise<HandlerAnswer | undefined> {
    const { call } = this.#parts;
    this.#inContext = AsyncLocalStorage.snapshot();
    return call.or<HandlerAnswer, HandlerAnswer | undefined>(
      () => {
        this.#begin();
        return this.#ended.promise;
      },
      (handled) => {
        if (handled !== OVER) return handled;
        this.#leave();
        return undefined;
      },
    );
  }

  more(): void {
    this.#asked += 1;
    this.#inContext(() => this.#goOn());
  }

  stop(): HandlerAnswer | undefined {
    if (this.#state === "over") return undefined;
    this.#abort(STOPPED);
    this.#leave();
    return streamEnded(this.#parts.reader.handed, false);
  }

  fail(answer: Failure): void {
    if (this.#state === "over") return;
    this.#abort(answer.message);
    this.#finish({ answer });
  }

  #begin(): void {
    const { call, items } = this.#parts;
    try {
      this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    } catch (error) {
      const answer = sentences.handlerFailed(call, call.identity.callId);
      this.#end({ answer, error: thrownReason(error) });
    }
    // What the handler does there may end the call.
    if (this.#state === "over") this.#return();
    this.#goOn();
  }

  /** Measures how long the handler gives no item. The time in which an agent waited for approvals alone is no silence of the tool. */
  #listen(): void {
    const { call } = this.#parts;
    this.#approvalMs = call.approvalWait.ms;
    if (this.#listening) this.#listening.refresh();
    else this.#listening = after(call.tool.timeoutMs, () => this.#onTime());
  }

  #onTime(): void {
    const { approvalWait, tool } = this.#parts.call;
    if (approvalWait.ms - this.#approvalMs >= 1) return this.#listen();
    if (this.#state !== "pulling") return;
    this.#end({ answer: sentences.streamSilent(tool.name, tool.timeoutMs, this.#index) });
    this.#goOn();
  }

  /** Sends what is to leave and pulls what is wanted, until something has to be waited for. */
  #goOn(): void {
    while (this.#state !== "over" && !this.#waitsForRoom) {
      if (this.#isToLeave && this.#isDue) this.#send();
      else if (this.#state !== "idle") return;
      else if (this.#last && this.#batch.count === 0) this.#finish(this.#last());
      else if (!this.#isDue || this.#last || this.#isToLeave) return;
      else this.#pull();
    }
  }

  get #isDue(): boolean {
    return this.#sent - this.#asked < (this.#asked === 0 ? 1 : BATCHES_AHEAD);
  }

  get #isToLeave(): boolean {
    return this.#batch.count > 0 && (this.#last !== undefined || this.#batch.isFull);
  }

  #pull(): void {
    this.#state = "pulling";
    if (!this.#parts.areRecorded) this.#listen();
    try {
      const next = this.#iterator?.next() as Next;
      if (isThenable<Step>(next)) awaitPromise(next, this.#took, this.#threw);
      else this.#read(next);
    } catch (error) {
      this.#handlerThrew(error);
    }
  }

  readonly #took = (next: Step): void => {
    if (this.#state !== "pulling") return;
    try {
      this.#read(next);
    } catch (error) {
      this.#handlerThrew(error);
    }
    this.#goOn();
  };

  readonly #threw = (error: unknown): void => {
    if (this.#state !== "pulling") return;
    this.#handlerThrew(error);
    this.#goOn();
  };

  #handlerThrew(error: unknown): void {
    const { call, limits } = this.#parts;
    this.#iterator = undefined;
    this.#end({ answer: thrownFailure(call, error, limits), error: thrownReason(error) });
  }

  #read(next: Step): void {
    if (!isAnyObject(next)) throw new TypeError("The iterator gave no result of a step.");
    const { done, value } = next;
    // What the handler did for this step may have ended the call.
    if (this.#state !== "pulling") return;
    if (done) return this.#complete(value);
    this.#state = "making";
    const read = itemText(this.#parts, this.#index, value);
    if (read instanceof Promise)
      void read.then((late) => {
        this.#take(late);
        this.#goOn();
      });
    else this.#take(read);
  }

  #complete(returned: unknown): void {
    const { identity, tool } = this.#parts.call;
    const { name } = tool;
    this.#iterator = undefined;
    // Iterators of node:sqlite end with null.
    if (returned !== undefined && returned !== null)
      this.#end({
        answer: sentences.resultNotJson(name, identity.callId),
        error: new Error(`The handler of ${name} returned a value at its end: yield each item, and return nothing.`),
      });
    else if (this.#past.isSkipping) this.#end(this.#changed());
    else {
      this.#state = "idle";
      this.#last = () => streamEnded(this.#progress, true);
    }
  }

  /** Index of the item that was pulled last, from 0. */
  get #index(): number {
    return this.#past.isSkipping ? this.#past.skipped : this.#progress.items + this.#batch.count;
  }

  /** Takes an item that was read, if nothing has ended the stream meanwhile. */
  #take(read: ItemText | FailedAnswer): void {
    const { areRecorded, call, limits, observe, share } = this.#parts;
    if (this.#state !== "making") return;
    this.#state = "idle";
    if ("answer" in read) return this.#end(read);
    if (this.#past.isSkipping) return this.#skip(read.text);
    const seen = this.#progress.bytes + this.#batch.bytes + read.bytes;
    const { streamBytes = Infinity } = limits;
    const isOver = seen > streamBytes;
    const overdraft = isOver
      ? ({ limit: "streamBytes", allowed: streamBytes, seen } as const)
      : share.hold(read.heldBytes);
    if (overdraft) return this.#end({ answer: sentences.resultOverBudget(call, overdraft), overdraft });
    if (!areRecorded && this.#index < LOOKED_AT) observe(read.text);
    this.#batch.add(read);
  }

  /** Takes an item that the program was given by another driver. */
  #skip(text: string): void {
    if (!this.#past.skip(text)) return this.#end(this.#changed());
    if (this.#past.skipped % BATCH_ITEMS > 0) return;
    // A handler that yields at once would else keep the thread until its last item.
    this.#state = "making";
    setImmediate(() => {
      if (this.#state === "making") this.#state = "idle";
      this.#goOn();
    });
  }

  /** Gives the batch to the reader, once the reader has read enough of other calls. */
  #send(): void {
    const { call, reader, unread } = this.#parts;
    const room = unread?.whenRoom();
    if (room) {
      this.#waitsForRoom = true;
      void room.then(() => {
        this.#waitsForRoom = false;
        this.#goOn();
      });
      return;
    }
    const batch = this.#batch.take();
    this.#sent += 1;
    this.#progress = { items: this.#progress.items + batch.count, bytes: this.#progress.bytes + batch.bytes };
    unread?.add(call.identity.callId, batch.heldBytes);
    reader.take(batch);
    this.tell();
  }

  #changed(): FailedAnswer {
    const { name } = this.#parts.call.tool;
    const error = new Error(
      `The stream of ${name} was given again from its first item, with other items than the journal has. Have its handler read \`after\` of its context and yield what follows, or give all items again, in their order.`,
    );
    return { answer: sentences.streamChanged(name), error };
  }

  /** Ends the handler. The items that were made before leave first. */
  #end(last: FailedAnswer): void {
    if (this.#state === "over" || this.#last) return;
    this.#last = () => last;
    this.#state = "idle";
    this.#abort(last.answer.message);
  }

  #abort(reason: string): void {
    this.#parts.call.setLate(reason);
    this.#return();
  }

  /** Asks the handler's iterator to end. It may never do so, and what it throws then changes nothing. */
  #return(): void {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    try {
      const returned = this.#inContext(() => iterator?.return?.());
      if (isThenable(returned)) awaitPromise(returned, ignore, (error) => this.#noticed(error));
    } catch (error) {
      this.#noticed(error);
    }
  }

  #noticed(error: unknown): void {
    this.#parts.call.noticed ??= error;
  }

  #finish(handled: HandlerAnswer): void {
    this.#leave();
    this.#ended.resolve(handled);
  }

  #leave(): void {
    this.#state = "over";
    cancel(this.#listening);
    cancel(this.#telling);
    if (this.#iterator) this.#return();
    this.#parts.share.giveBack(this.#batch.drop());
  }
}
