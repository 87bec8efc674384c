/*
 * The stream that answers a call. The items of the handler's iterable come in; they leave in batches, as its reader asks
 * for them, and what ended the stream goes out last.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as nextRound } from "node:timers/promises";
import { Content } from "../../tools/content.ts";
import { issuesText, type Schema, type Validated, validate } from "../../tools/schema.ts";
import { memoryOf, type Share } from "../../values/held-bytes.ts";
import { isLarge, type ResultLimits, type ResultText, serialiseResult } from "../../values/json/serialise-result.ts";
import type { Overdraft } from "../admit/budget.ts";
import type { Failure } from "../answer.ts";
import { OVER } from "../call-end.ts";
import type { OpenCall } from "../open-call.ts";
import type { Failed, Handled } from "../handled.ts";
import { thrownFailure } from "../run/run-handler.ts";
import type { UnreadAnswers } from "../run/unread-answers.ts";
import * as sentences from "../sentences.ts";
import { type Batch, type OpenStream, streamEnded, type StreamReader } from "./stream-reader.ts";
import { PastItems, type StreamPast } from "./past-items.ts";
import { NEWS_MS, type Streamed, StreamNews } from "./stream-news.ts";

/**
 * Most bytes of a batch, unless a single item has more. It fits into the buffer of the pipe to a guest that reads the batch
 * before it, and into an engine's read buffer.
 */
const BATCH_BYTES = 120 * 1024;
const BATCH_ITEMS = 500;
/** Most items of the first batch, so that the program has it soon and a program that needs no more costs the handler no more. */
const FIRST_ITEMS = 16;
/** Batches that wait for the reader once it has begun to read: while it reads one the next is made. */
const BATCHES_AHEAD = 2;
/** How long an item waits for others of its batch, in milliseconds. The first batch waits only for what is there at once. */
const BATCH_MS = 50;

/** Why a stream ended whose reader had enough of it. */
export const STOPPED = "The program reads no more of the stream.";

export interface StreamParts {
  readonly call: OpenCall;
  readonly items: AsyncIterable<unknown> | Iterable<unknown>;
  /** Whether the items are those after the past, whatever the tool says of its handler. */
  readonly isRest?: boolean;
  readonly reader: StreamReader;
  readonly limits: ResultLimits & { readonly streamBytes?: number | undefined };
  readonly share: Share;
  readonly unread: UnreadAnswers | undefined;
  /** Told how far the stream is, a few times a second at most. */
  readonly onNews?: (() => void) | undefined;
}

/** An item as JSON text. */
type Made = Pick<Batch, "bytes" | "values" | "heldBytes"> & { readonly text: string };

type Step = IteratorResult<unknown>;
type Next = Step | PromiseLike<Step>;

/**
 * Pulls items while its reader has asked for a batch that has not left. So a reader that is slow holds up the handler,
 * and nothing collects here. Each item is checked and becomes text on its own.
 */
export class StreamRun implements OpenStream {
  readonly #parts: StreamParts;
  readonly #past: PastItems;
  readonly #batchBytes: number;
  readonly #ended = Promise.withResolvers<Handled>();
  #iterator: { next(): Next; return?(): unknown } | undefined;
  #inContext: ReturnType<typeof AsyncLocalStorage.snapshot> = (run, ...values) => run(...values);
  /** Items of the next batch. */
  #batch = newBatch();
  /** An item that did not fit into the batch. */
  #spare: Made | undefined;
  /** How often the reader has asked for a batch, which it does when it begins to read one. */
  #asked: number;
  /** Batches that have left. */
  #sent: number;
  #given: Streamed;
  /** `pulling`: the handler was asked for an item. `making`: an item becomes text. */
  #state: "idle" | "pulling" | "making" | "over" = "idle";
  /** Whether the batch waits for the reader to read answers of other calls. */
  #waitsForRoom = false;
  /** What ends the stream, after the items before it. */
  #last: (() => Handled) | undefined;
  #silence: NodeJS.Timeout | undefined;
  /** Time for approvals that the handler is not blamed for, up to where it was asked for the last item. */
  #approvalMs = 0;
  #flush: NodeJS.Timeout | NodeJS.Immediate | undefined;
  /** Whether the batch has waited long enough for more items. */
  #isLate = false;
  readonly #news: StreamNews;
  #newsTimer: NodeJS.Timeout | undefined;

  constructor(parts: StreamParts, past: StreamPast | undefined) {
    this.#parts = parts;
    this.#past = new PastItems(parts.isRest ? {} : parts.call.tool, past);
    this.#batchBytes = Math.min(BATCH_BYTES, parts.limits.resultBytes);
    this.#given = { items: past?.items ?? 0, bytes: past?.bytes ?? 0 };
    this.#news = new StreamNews(past?.items);
    this.#asked = past?.asked ?? 0;
    this.#sent = past?.batches ?? 0;
  }

  get given(): Streamed {
    return this.#given;
  }

  takeLastNews(): Streamed | undefined {
    return this.#news.take(this.#given.items, "end") ? this.#given : undefined;
  }

  /** Gives batches until the handler, the reader or a limit ends the stream. Undefined if the call ends first. Never rejects. */
  run(): Promise<Handled | undefined> {
    const { call } = this.#parts;
    this.#inContext = AsyncLocalStorage.snapshot();
    return call.over.or<Handled, Handled | undefined>(
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

  stop(): Handled | undefined {
    if (this.#state === "over") return undefined;
    this.#abort(STOPPED);
    this.#leave();
    return streamEnded(this.#given, false);
  }

  fail(answer: Failure): void {
    if (this.#state === "over") return;
    this.#abort(answer.message);
    this.#finish({ answer });
  }

  #begin(): void {
    const { call, items } = this.#parts;
    this.#silence = setTimeout(() => this.#onSilence(), call.tool.timeoutMs);
    try {
      this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    } catch (error) {
      this.#end({ answer: this.#handlerFailed(), error });
    }
    // What the handler does there may end the call.
    if (this.#state === "over") this.#return();
    this.#goOn();
  }

  #onSilence(): void {
    const { call } = this.#parts;
    if (this.#state !== "pulling") return;
    // The time in which an agent waited for approvals alone is no silence of the tool.
    if (call.approvalMs - this.#approvalMs >= 1) {
      this.#approvalMs = call.approvalMs;
      this.#silence?.refresh();
      return;
    }
    this.#end({ answer: sentences.streamSilent(call.tool, this.#index) });
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

  /** Whether the reader has room for one more batch. */
  get #isDue(): boolean {
    return this.#sent - this.#asked < (this.#asked === 0 ? 1 : BATCHES_AHEAD);
  }

  get #isToLeave(): boolean {
    const { count, bytes } = this.#batch;
    if (count === 0) return false;
    return (
      this.#isLate ||
      this.#last !== undefined ||
      this.#spare !== undefined ||
      count >= (this.#given.items === 0 ? FIRST_ITEMS : BATCH_ITEMS) ||
      bytes >= this.#batchBytes
    );
  }

  #pull(): void {
    this.#state = "pulling";
    this.#silence?.refresh();
    this.#approvalMs = this.#parts.call.approvalMs;
    try {
      const next = this.#iterator?.next() as Next;
      if (isThenable<Step>(next)) settled(next, this.#took, this.#threw);
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
    this.#end({ answer: thrownFailure(call, error, limits), error });
  }

  #read(next: Step): void {
    if (typeof next !== "object" || next === null) throw new TypeError("The iterator gave no result of a step.");
    const { done, value } = next;
    // What the handler did for this step may have ended the call.
    if (this.#state !== "pulling") return;
    if (done) return this.#complete(value);
    this.#state = "making";
    let made: Promise<void> | undefined;
    try {
      made = this.#make(value);
    } catch (error) {
      this.#itemFailed(error);
    }
    if (!made) this.#made();
    else
      made.then(
        () => this.#madeLater(),
        (error: unknown) => {
          this.#itemFailed(error);
          this.#madeLater();
        },
      );
  }

  /** An item could not be read. The handler is told to end, as if its reader had left the loop. */
  #itemFailed(error: unknown): void {
    const cause = sentences.itemNotJson(this.#parts.call.tool.name, this.#index, error);
    this.#end({ answer: this.#handlerFailed(), error: cause });
  }

  #made(): void {
    if (this.#state === "making") this.#state = "idle";
  }

  #madeLater(): void {
    this.#made();
    this.#goOn();
  }

  #complete(returned: unknown): void {
    const { name } = this.#parts.call.tool;
    this.#iterator = undefined;
    if (returned !== undefined) this.#end({ answer: this.#handlerFailed(), error: sentences.returnedNotYielded(name) });
    else if (this.#past.isSkipping) this.#end({ answer: sentences.streamChanged(name) });
    else {
      this.#state = "idle";
      this.#last = () => streamEnded(this.#given, true);
    }
  }

  /** Checks an item, and adds its text to the batch. Returns a promise only if it must wait. */
  #make(value: unknown): Promise<void> | undefined {
    const { call } = this.#parts;
    const { name, output } = call.tool;
    if (Content.is(value)) {
      this.#end({ answer: this.#handlerFailed(), error: sentences.yieldedContent(name, this.#index) });
      return undefined;
    }
    if (isThenable(value)) {
      this.#end({ answer: this.#handlerFailed(), error: sentences.yieldedPromise(name, this.#index) });
      settled(value, ignore, ignore);
      return undefined;
    }
    if (output === undefined) return this.#encode(value);
    return isLarge(value) ? this.#validateLarge(value, output) : this.#validate(value, output);
  }

  /** An item that is too large is refused before a schema walks it. */
  async #validateLarge(value: unknown, output: Schema): Promise<void> {
    const { limits, share } = this.#parts;
    const encoded = await serialiseResult(value, limits, share);
    if (encoded.type === "text" || encoded.type === "not_json") await this.#validate(value, output);
    else this.#end(this.#refused(encoded));
  }

  #validate(value: unknown, output: Schema): Promise<void> | undefined {
    const { call, share } = this.#parts;
    const failed = (error: unknown) => {
      this.#end({ answer: sentences.itemInvalid(call.tool.name, this.#index), error });
      return undefined;
    };
    let validated: Validated | Promise<Validated>;
    try {
      validated = share.lane.run(() => validate(output, value));
    } catch (error) {
      return failed(error);
    }
    return validated instanceof Promise
      ? validated.then((late) => this.#takeValidated(late), failed)
      : this.#takeValidated(validated);
  }

  #takeValidated(validated: Validated): Promise<undefined> | undefined {
    if (validated.ok) return this.#encode(validated.value);
    const { tool } = this.#parts.call;
    const { name } = tool;
    const faults = sentences.itemFaults(tool, this.#index, issuesText(validated.issues));
    this.#end({ answer: sentences.itemInvalid(name, this.#index), error: faults });
    return undefined;
  }

  #encode(value: unknown): Promise<undefined> | undefined {
    const { limits, share } = this.#parts;
    return serialiseResult(value, limits, share, this.#add) as Promise<undefined> | undefined;
  }

  /** Index of the item that was pulled last, from 0. */
  get #index(): number {
    return this.#past.isSkipping ? this.#past.skipped : this.#given.items + this.#batch.count;
  }

  readonly #add = (encoded: ResultText): Promise<undefined> | undefined => {
    const { call, limits, share } = this.#parts;
    const { name } = call.tool;
    if (this.#state === "over") return undefined;
    if (encoded.type !== "text") {
      this.#end(this.#refused(encoded));
      return undefined;
    }
    const { text, bytes, values } = encoded;
    if (this.#past.isSkipping) {
      if (!this.#past.skip(text)) this.#end({ answer: sentences.streamChanged(name) });
      // A handler that yields at once would else keep the thread until its last item.
      return this.#past.skipped % BATCH_ITEMS === 0 ? nextRound(undefined) : undefined;
    }
    const seen = this.#given.bytes + this.#batch.bytes + bytes;
    const { streamBytes = Number.POSITIVE_INFINITY } = limits;
    const heldBytes = memoryOf(text, bytes);
    const overdraft =
      seen > streamBytes ? ({ limit: "streamBytes", allowed: streamBytes, seen } as const) : share.hold(heldBytes);
    if (overdraft) this.#end(overBudget(name, overdraft));
    else if (this.#batch.count > 0 && this.#batch.bytes + bytes + 1 > this.#batchBytes)
      this.#spare = { text, bytes, values, heldBytes };
    else this.#put({ text, bytes, values, heldBytes });
    return undefined;
  };

  #refused(encoded: Exclude<ResultText, { readonly type: "text" }>): Failed {
    const { call, limits } = this.#parts;
    const { name } = call.tool;
    switch (encoded.type) {
      case "not_json":
        return { answer: this.#handlerFailed(), error: sentences.itemNotJson(name, this.#index, encoded.cause) };
      case "too_large":
        return { answer: sentences.itemTooLarge(name, this.#index, encoded.bytes, limits.resultBytes) };
      case "too_many":
        return { answer: sentences.itemTooMany(name, this.#index, encoded.values, limits.resultValues) };
      case "spent":
        return overBudget(name, encoded.overdraft);
    }
  }

  #put({ text, bytes, values, heldBytes }: Made): void {
    const batch = this.#batch;
    batch.texts.push(text);
    batch.count += 1;
    batch.bytes += bytes + 1;
    batch.values += values;
    batch.heldBytes += heldBytes;
    if (batch.count > 1 || this.#flush) return;
    const flush = () => {
      this.#flush = undefined;
      this.#isLate = true;
      this.#inContext(() => this.#goOn());
    };
    this.#flush = this.#given.items === 0 ? setImmediate(flush) : setTimeout(flush, BATCH_MS);
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
    const { texts, count, bytes, values, heldBytes } = this.#batch;
    this.#batch = newBatch();
    this.#isLate = false;
    clearTimeout(this.#flush as NodeJS.Timeout);
    clearImmediate(this.#flush as NodeJS.Immediate);
    this.#flush = undefined;
    this.#sent += 1;
    this.#given = { items: this.#given.items + count, bytes: this.#given.bytes + bytes + 1 };
    unread?.add(call.identity.callId, heldBytes);
    reader.take({ body: `[${texts.join(",")}]`, count, bytes: bytes + 1, values, heldBytes });
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare) this.#put(spare);
    this.#tell();
  }

  #tell(): void {
    const { onNews } = this.#parts;
    // A reader may have ended the stream with what it was given.
    if (!onNews || this.#state === "over" || this.#news.knows(this.#given.items)) return;
    if (this.#news.take(this.#given.items, performance.now())) onNews();
    else
      this.#newsTimer ??= setTimeout(() => {
        this.#newsTimer = undefined;
        this.#tell();
      }, NEWS_MS);
  }

  #handlerFailed(): Failure {
    const { tool, identity } = this.#parts.call;
    return sentences.handlerFailed(tool.name, identity.callId, undefined);
  }

  /** Ends the handler. The items that were made before leave first. */
  #end(last: Failed): void {
    if (this.#state === "over" || this.#last) return;
    this.#last = () => last;
    this.#state = "idle";
    this.#abort(last.answer.message);
  }

  #abort(reason: string): void {
    this.#parts.call.over.setLate(reason);
    this.#return();
  }

  /** Asks the handler's iterator to end. It may never do so, and what it throws then changes nothing. */
  #return(): void {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    try {
      const returned = this.#inContext(() => iterator?.return?.());
      if (isThenable(returned)) settled(returned, ignore, (error) => this.#noticed(error));
    } catch (error) {
      this.#noticed(error);
    }
  }

  #noticed(error: unknown): void {
    this.#parts.call.noticed ??= error;
  }

  #finish(handled: Handled): void {
    this.#leave();
    this.#ended.resolve(handled);
  }

  #leave(): void {
    this.#state = "over";
    clearTimeout(this.#silence);
    clearTimeout(this.#flush as NodeJS.Timeout);
    clearImmediate(this.#flush as NodeJS.Immediate);
    clearTimeout(this.#newsTimer);
    if (this.#iterator) this.#return();
    this.#parts.share.giveBack(this.#batch.heldBytes + (this.#spare?.heldBytes ?? 0));
    this.#batch = newBatch();
    this.#spare = undefined;
  }
}

function overBudget(tool: string, overdraft: Overdraft): Failed {
  return { answer: sentences.resultOverBudget(tool, overdraft), overdraft };
}

function newBatch() {
  // One byte for the opening bracket; each item has a comma or the closing one.
  return { texts: [] as string[], count: 0, bytes: 0, values: 0, heldBytes: 0 };
}

const ignore = (): void => {};

/** Awaits a promise as `await` does, which does not look for its own `then`: a handler could give one that answers twice. */
function settled<Value>(
  promise: PromiseLike<Value>,
  fulfilled: (value: Value) => void,
  rejected: (error: unknown) => void,
): void {
  void Reflect.apply(then, Promise.resolve(promise), [fulfilled, rejected]);
}

// oxlint-disable-next-line typescript/unbound-method -- it is applied to promises
const { then } = Promise.prototype;

function isThenable<Value>(value: unknown): value is PromiseLike<Value> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}
