/*
 * Runs the handlers of calls. A call that is allowed comes in; it waits for its turn, its handler is run, and the
 * answer with its value as JSON text, or its failure, goes out.
 */
import { isUint8Array } from "node:util/types";
import type { AsyncLocalStorage } from "node:async_hooks";
import { Content, displayText, keptParts, keptSource, partsBytes } from "../../tools/content.ts";
import type { CallContext } from "../../tools/tool.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import { describe, isAnyObject, isLarge, serialiseResult } from "../../base/index.ts";
import type { InputReading } from "../admit/admission.ts";
import type { Answer, Failure, HandlerAnswer } from "../answer.ts";
import { runAttempts } from "./attempts.ts";
import type { CallQueues } from "../queues/call-queues.ts";
import type { OpenCall } from "../open-call.ts";
import type { OpenCalls, OpenCallsParts } from "../open-calls.ts";
import {
  handledText,
  noText,
  readOutside,
  readResult,
  HandlerResult,
  runHandler,
  thrownFailure,
  toText,
} from "./run-handler.ts";
import { gatheredItems } from "../streams/gathered-items.ts";
import { StreamRun } from "../streams/stream-run.ts";
import type { AnsweredCall, EarlierCalls, EarlierReader } from "../reuse/earlier-calls.ts";
import * as sentences from "../sentences.ts";
import { keptNames, nameDigest } from "./named.ts";
import { StoredResult } from "../artifacts/session-artifacts.ts";
import { SAVE_ARTIFACT } from "../../tools/tool-name.ts";
import type { ToolQueues } from "../queues/tool-queues.ts";

export interface RunnerParts extends OpenCallsParts {
  readonly calls: OpenCalls;
  readonly queues: CallQueues;
  readonly toolQueues: ToolQueues;
  /** Runs a function in the execution's async context. Queues and slices would run it in another execution's. */
  readonly inContext: ReturnType<typeof AsyncLocalStorage.snapshot>;
  readonly contextOf: (call: OpenCall) => CallContext;
  readonly earlier?: EarlierCalls | undefined;
}

type Ran = HandlerResult | HandlerAnswer | undefined;

const NOTHING = Promise.resolve(undefined);

/** Runs the handlers of calls that may be made, and makes answers of what they return. */
export class CallRunner {
  readonly #parts: RunnerParts;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /**
   * Runs a call when the concurrency of its execution and its tool and the tool's rate allow it, and the program has
   * read enough of its answers. Reads its input then, unless it was read before. The result becomes text only after the
   * tool is free again, so that a program that reads nothing does not keep others from the tool.
   */
  runAtItsTurn(call: OpenCall, read?: { readonly input: unknown }): Promise<Answer | undefined> {
    const { queues, scope, toolQueues, unread } = this.#parts;
    const run = () => (read ? this.#run(call, read.input) : this.withInput(call, (input) => this.#run(call, input)));
    const answer = (ran: Answer | Ran) => this.#answer(call, ran);
    const start = () =>
      toolQueues.whenFree(call.tool, scope.tenant, run, call.tool.rate ? call.signal : queues.closing).then(answer);
    // A program may read many streams side by side: one that waited for the others' ends would hold them up for ever.
    if (call.reader) return start();
    return queues.run("handlers", () => {
      const room = unread?.begin(call.identity.callId, call.inputBytes);
      return room ? room.then(start) : start();
    });
  }

  /** Reads a call's input, for `goOn` alone: what others were given of it, like the tool's `effect`, they cannot change here. */
  withInput<Value>(call: OpenCall, goOn: (input: unknown) => Promise<Value>): Promise<Value | Answer | undefined> {
    const { admission, calls, inContext } = this.#parts;
    const withRead = (read: InputReading): Promise<Value | Answer | undefined> => {
      if (!read) return NOTHING;
      if (!read.ok) return calls.refuse(call, read);
      if (call.isEffectKnown) return goOn(read.value);
      inContext(() => call.readEffect(read.value));
      return this.withInput(call, goOn);
    };
    const reading = admission.readInput(call);
    return reading instanceof Promise ? reading.then(withRead) : withRead(reading);
  }

  /** Answers a call with a value from outside this process, as JSON text. Of a stream that is the list of all its items. */
  async deliver(call: OpenCall, text: string, redacted: number | undefined): Promise<Answer | undefined> {
    const { calls, inContext, limits, share } = this.#parts;
    call.handling.started = true;
    call.handling.extras = { redacted };
    if (!call.tool.stream) return calls.finish(call, await readResult(call, text, limits, share));
    // Each item is held to the limit of a result by itself.
    const items = await readOutside(call, text, { ...limits, resultBytes: Infinity }, share);
    if (calls.isGone(call)) return undefined;
    if (items instanceof HandlerResult && Array.isArray(items.value)) {
      const all = items.value as unknown[];
      return calls.finish(call, await inContext(() => this.#give(call, all)));
    }
    if (!(items instanceof HandlerResult)) return calls.finish(call, items);
    const error = sentences.outputFaults(call.tool, "it is no list of items");
    return calls.fail(call, sentences.outputInvalid(call), error);
  }

  /** Answers a call as an earlier call was answered, whose value has passed all checks of a result. */
  async reuse(call: OpenCall, earlier: AnsweredCall, reader: EarlierReader): Promise<Answer | undefined> {
    const { calls, inContext, ledger } = this.#parts;
    const { answer } = earlier;
    const { handling, ruling } = call;
    ruling.isRecorded = true;
    handling.isReused = true;
    ledger.reused(call, earlier);
    const display = await reader.display(earlier);
    const { partsLeftOut, named } = answer;
    handling.extras = { partsLeftOut, named, display };
    if (!answer.isStream) return this.#answerWith(call, new StoredResult(answer, () => reader.value(earlier)));
    if (calls.isGone(call)) return undefined;
    return calls.finish(call, await inContext(() => this.#give(call, reader.items(earlier), true)));
  }

  /** Journals `allowed`, then runs the handler: from then on the tool may take effect. */
  #run(call: OpenCall, input: unknown): Promise<Ran> {
    const { calls, ledger, earlier } = this.#parts;
    if (calls.isGone(call)) return NOTHING;
    // What a program keeps is its own: it changes nothing that a tool reads.
    if (call.tool.name !== SAVE_ARTIFACT) earlier?.noteMade(call.ruling.effect);
    call.ruling.isRecorded = true;
    return ledger.allowed(call).then(() => this.#handle(call, input));
  }

  #handle(call: OpenCall, input: unknown): Ran | Promise<Ran> {
    const { admission, calls, ledger, inContext, contextOf, scope, toolQueues } = this.#parts;
    if (calls.isGone(call)) return undefined;
    ledger.started(call.identity, call.tool);
    const { span, tool } = call;
    const { retry } = tool;
    if (tool.stream) return inContext(() => this.#stream(call, () => runHandler(call, input, contextOf(call))));
    const handle = () =>
      retry
        ? runAttempts(call, input, contextOf(call), {
            retry,
            ledger,
            readInput: () => admission.readInput(call),
            whenRate: () => toolQueues.whenRate(tool, scope.tenant, call.signal),
          })
        : runHandler(call, input, contextOf(call));
    return inContext(span ? () => span.run(handle) : handle);
  }

  /** Runs a handler that gives items. The call keeps its place among the calls of the tool until the stream has ended. */
  async #stream(call: OpenCall, handle: () => ReturnType<typeof runHandler>): Promise<Ran> {
    const { identity, span, tool } = call;
    const stream = async () => {
      const ran = await handle();
      if (!(ran instanceof HandlerResult)) return ran;
      const failed = (error: unknown) => ({ answer: sentences.resultNotJson(call, identity.callId), error });
      let items: ReturnType<typeof itemsOf>;
      try {
        items = itemsOf(ran.value);
        if (!items) return failed(noItems(tool.name, ran.value));
      } catch (error) {
        // A revoked proxy, or a getter that throws.
        return failed(error);
      }
      return this.#give(call, items);
    };
    return span ? span.run(stream) : stream();
  }

  #give(
    call: OpenCall,
    items: AsyncIterable<unknown> | Iterable<unknown>,
    areRecorded = false,
  ): Promise<HandlerAnswer | undefined> {
    const { calls, ledger, limits, share, unread } = this.#parts;
    const { handling } = call;
    const { reader, read } = call.reader
      ? { reader: call.reader, read: (own: StreamRun) => own.run() }
      : gatheredItems(call, limits, share);
    const observe = (text: string) => calls.observe(call, text);
    const parts = { call, items, reader, limits, share, areRecorded, observe };
    const ofReader = call.reader && { unread, onNews: () => ledger.streamed(call) };
    const run = new StreamRun({ ...parts, ...ofReader }, handling.streamed);
    handling.stream = run;
    return read(run);
  }

  #answer(call: OpenCall, ran: Answer | Ran): Answer | undefined | Promise<Answer | undefined> {
    if (ran instanceof HandlerResult) return this.#answerWith(call, ran.value);
    return ran && "answer" in ran ? this.#parts.calls.finish(call, ran) : ran;
  }

  /** Makes the answer of a result. A large one waits until the program has read the answers before it. */
  #answerWith(call: OpenCall, result: unknown): Answer | undefined | Promise<Answer | undefined> {
    const { calls, inContext, limits, share, unread } = this.#parts;
    let returned: unknown;
    let failed: Content | undefined;
    try {
      const content = Content.is(result) ? result : undefined;
      returned = content ? content.value : result;
      failed = content?.isError ? content : undefined;
      const refused = content && this.#takeContent(call, content);
      if (refused) return calls.fail(call, refused);
    } catch (error) {
      // A revoked proxy, or a `display` that has no JSON form any more.
      return calls.fail(call, sentences.resultNotJson(call, call.identity.callId), error);
    }
    const make = () => {
      if (calls.isGone(call)) return undefined;
      if (failed) return inContext(() => this.#answerFailed(call, failed, returned));
      if (returned instanceof StoredResult) return this.#answerStored(call, returned);
      return inContext(() => toText(call, returned, limits, share, (handled) => calls.finish(call, handled)));
    };
    const answer = () => {
      if (!unread || !isLargeResult(returned)) return make();
      // No handler has the input any more: many large ones would wait for one another's ends.
      unread.end(call.identity.callId);
      return unread.makeLarge(make);
    };
    const { redactor } = this.#parts.scope;
    const { display, named } = call.handling.extras;
    return redactor && (display !== undefined || named) ? redactBeside(call, redactor, result).then(answer) : answer();
  }

  /** Makes the answer of a call whose handler says that it has failed, and with what. The value need not fit the tool's `outputSchema`. */
  #answerFailed(call: OpenCall, content: Content, value: unknown): Answer | undefined | Promise<Answer | undefined> {
    const { calls, limits, share } = this.#parts;
    return serialiseResult(value, limits, share, (encoded) => {
      const handled = handledText(call, value, encoded, limits);
      const answer = handled.answer.ok
        ? sentences.handlerFailedWith(call.tool.name, handled.answer.text, content)
        : undefined;
      return calls.finish(call, answer ? { answer } : handled);
    });
  }

  /** Keeps the display, the source, what it names, and the parts if a model called directly. Returns the failure if they are too large. */
  #takeContent(call: OpenCall, { display, parts, source, names }: Content): Failure | undefined {
    const { handling, identity, tool } = call;
    const addresses = keptNames(names);
    const extras = {
      named: addresses.length > 0 ? addresses.map((address) => nameDigest(tool, address)) : undefined,
      display: display === undefined ? undefined : displayText(display),
      from: source === undefined ? undefined : keptSource(source),
    };
    const isDirect = identity.caller === "direct";
    handling.extras = isDirect ? extras : { ...extras, partsLeftOut: parts.length };
    if (!isDirect || parts.length === 0) return undefined;
    const bytes = partsBytes(parts);
    const { resultBytes, partBytes = resultBytes } = this.#parts.limits;
    if (bytes > partBytes) return sentences.partsTooLarge(tool.name, bytes, partBytes);
    handling.extras = { ...extras, parts: keptParts(parts) };
    return undefined;
  }

  /** Makes the answer of a stored text. Its memory is held while it is read. */
  async #answerStored(call: OpenCall, stored: StoredResult): Promise<Answer | undefined> {
    const { calls, limits, share } = this.#parts;
    const { bytes, shape } = stored;
    const without = (why: Parameters<typeof noText>[1]) => calls.finish(call, noText(call, why, limits));
    if (bytes > limits.resultBytes) return without({ type: "too_large", bytes });
    const overdraft = share.hold(bytes);
    if (overdraft) return without({ type: "spent", overdraft });
    let text: string;
    try {
      text = await stored.read();
    } catch (error) {
      return calls.fail(call, thrownFailure(call, error, limits), error);
    } finally {
      share.giveBack(bytes);
    }
    // A journal that was made elsewhere, or redacted since, may hold a text of another size than its record tells. To
    // count the bytes of many large texts would hold up the host's thread. If the characters are as many as the bytes
    // should be, they have at most three times as many bytes.
    const size = text.length === bytes ? bytes : Buffer.byteLength(text);
    if (size > limits.resultBytes) return without({ type: "too_large", bytes: size });
    return calls.finish(call, { answer: { ok: true, text, bytes: size }, shape });
  }
}

/** The items that a handler gives; undefined if it gives something else. A text is no list of its characters. */
function itemsOf(returned: unknown): AsyncIterable<unknown> | Iterable<unknown> | undefined {
  // The items of bytes would be numbers.
  if (!isAnyObject(returned) || isUint8Array(returned)) return undefined;
  const items = returned as Partial<AsyncIterable<unknown> & Iterable<unknown>>;
  return typeof items[Symbol.asyncIterator] === "function" || typeof items[Symbol.iterator] === "function"
    ? (items as AsyncIterable<unknown>)
    : undefined;
}

function noItems(tool: string, value: unknown): Error {
  const unusual = Content.is(value) ? "what content() makes" : isUint8Array(value) && "bytes";
  return new Error(
    `The handler of ${tool}, which has \`stream: true\`, returned ${unusual || describe(value)}: make it an async generator (async *handler), or return an iterable of items.`,
  );
}

/**
 * Redacts the display, which people read in reports, events and logs. An address that would be redacted is not named: its
 * digest would tell of it.
 */
async function redactBeside(
  { handling, identity, tool }: OpenCall,
  redactor: Redactor,
  result: unknown,
): Promise<void> {
  const { display, named, ...extras } = handling.extras;
  const about = { tool: identity.tool, callId: identity.callId };
  const shown = display === undefined ? undefined : (await redactor.json(display, { to: "log", ...about })).text;
  const names = named && Content.is(result) ? keptNames(result.names) : undefined;
  const cleanNames: unknown = names && (await redactor.value<unknown>(names, { to: "journal", ...about }));
  const plain = names?.filter((name, index) => Array.isArray(cleanNames) && cleanNames[index] === name);
  const digests = plain ? plain.map((name) => nameDigest(tool, name)) : named;
  handling.extras = { ...extras, display: shown, named: digests };
}

/** Stored texts of this many bytes or more are read one at a time. */
const LARGE_BYTES = 64 * 1024;

function isLargeResult(returned: unknown): boolean {
  return returned instanceof StoredResult ? returned.bytes > LARGE_BYTES : isLarge(returned);
}
