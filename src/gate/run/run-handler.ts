import {
  after,
  cancel,
  ignore,
  isLarge,
  measure,
  parsedJson,
  PortcullisError,
  readerOf,
  readPlainJson,
  type ResultLimits,
  type ResultText,
  resultType,
  serialiseResult,
  type Share,
  TooManyValues,
  asUntrusted,
} from "../../base/index.ts";
import { isObject, issuesText, type Schema, type ValidationResult, validate } from "../../tools/schema.ts";
import type { CallContext } from "../../tools/tool.ts";
import type { FailedAnswer, Failure, HandlerAnswer } from "../answer.ts";
import { OVER } from "../call-end.ts";
import { handlerOf, valueOf } from "../../tools/text-results.ts";
import type { OpenCall } from "../open-call.ts";
import * as sentences from "../sentences.ts";

export class HandlerResult {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/**
 * Runs a call's handler for at most `allowedMs`, by default the tool's time. Never rejects. Returns a promise only if the
 * handler does: a value that is returned at once needs no timer and no race.
 */
export function runHandler(
  call: OpenCall,
  input: unknown,
  context: CallContext,
  allowedMs = call.tool.timeoutMs,
): HandlerResult | FailedAnswer | Promise<HandlerResult | FailedAnswer> {
  const { execute: handler } = call.tool;
  if (handler === "client") throw new Error("A client's tool has no handler here.");
  if (call.isOver) return timedOut(call);
  call.handling.started = true;
  try {
    const returned = handlerOf(handler)(input, context);
    return isThenable(returned) ? withinTime(call, returned, context, allowedMs) : new HandlerResult(returned);
  } catch (error) {
    return failed(thrownFailure(call, error, context), thrownReason(error));
  }
}

/** What a handler's promise brings, or its failure as soon as its time is over or its call has ended. */
function withinTime(
  call: OpenCall,
  returned: PromiseLike<unknown>,
  context: CallContext,
  allowedMs: number,
): FailedAnswer | Promise<HandlerResult | FailedAnswer> {
  const promised = Promise.resolve(returned);
  if (call.isOver) {
    // Nothing awaits the promise if the call ends first: its error is ignored.
    promised.catch(ignore);
    return timedOut(call);
  }
  let countedMs = call.approvalWait.ms;
  const onTime = () => {
    // The time in which an agent waited for approvals alone is no part of the tool's time.
    const moreMs = call.approvalWait.ms - countedMs;
    countedMs += moreMs;
    if (moreMs >= 1) timer = after(moreMs, onTime);
    else call.setLate(`The call took longer than ${call.tool.timeoutMs} ms.`);
  };
  let timer = after(allowedMs, onTime);
  return call.or<unknown, HandlerResult | FailedAnswer>(
    () => promised,
    (value) => {
      cancel(timer);
      return value === OVER ? timedOut(call) : new HandlerResult(value);
    },
    (error) => {
      cancel(timer);
      return failed(thrownFailure(call, error, context), thrownReason(error));
    },
    true,
  );
}

function timedOut({ tool, ruling }: OpenCall): FailedAnswer {
  return failed(sentences.handlerTimedOut(tool.name, tool.timeoutMs, ruling.effect));
}

/** What a handler threw, for the log. Nothing thrown is a reason too. */
export function thrownReason(error: unknown): unknown {
  return error ?? new Error(`It failed with ${String(error)} in place of an error.`);
}

/** The failure that a handler's error stands for. The caller reads only a message that was written for callers. */
export function thrownFailure(
  { tool, identity }: OpenCall,
  error: unknown,
  { resultBytes, resultValues }: ResultLimits,
): Failure {
  if (PortcullisError.is(error)) {
    if (error.code === "tool_failed") return sentences.handlerFailed(tool.name, identity.callId, error.message);
    if (error.code === "source_unavailable") return sentences.sourceUnavailable(tool.name, error.message);
    if (error.code === "result_too_large" && error.cause instanceof TooManyValues)
      return sentences.moreThanRead(tool.name, error.cause.seen, resultValues);
    if (error.code === "result_too_large")
      return sentences.resultTooLarge(tool.name, "resultBytes", resultBytes + 1, resultBytes);
  }
  return sentences.handlerFailed(tool.name, identity.callId);
}

/** Checks a result that came from outside this process, as JSON text. Only for a schema it becomes a value. */
export async function readResult(
  call: OpenCall,
  text: string,
  limits: ResultLimits,
  share: Share,
): Promise<HandlerAnswer> {
  const bytes = Buffer.byteLength(text);
  const plain =
    call.tool.outputSchema || bytes > limits.resultBytes
      ? undefined
      : await readPlainJson(asUntrusted(text), readerOf(share, call.signal));
  if (plain && plain.values <= limits.resultValues)
    return handledText(call, plain, { type: "text", text, bytes, values: plain.values }, limits);
  const read = await readOutside(call, text, limits, share);
  return read instanceof HandlerResult ? toText(call, read.value, limits, share) : read;
}

/** Reads a value that came from outside this process, as JSON text, within the limits of a result. */
export async function readOutside(
  call: OpenCall,
  text: string,
  limits: ResultLimits,
  share: Share,
): Promise<HandlerResult | FailedAnswer> {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.resultBytes) return noText(call, { type: "too_large", bytes }, limits);
  const values = await share.lane.run(() => measure(text).values);
  if (values > limits.resultValues) return noText(call, { type: "too_many", values }, limits);
  return new HandlerResult(await share.lane.run(() => parseOutside(text, call)));
}

/**
 * Validates a result against the tool's schema and its size limit, and encodes it as JSON text, for `use`. Never rejects
 * by itself. Returns a promise only if it must wait, because it runs for every call.
 */
export function toText<Used = HandlerAnswer>(
  call: OpenCall,
  returned: unknown,
  limits: ResultLimits,
  share: Share,
  use: (handled: HandlerAnswer) => Used = (handled: unknown) => handled as Used,
): Used | Promise<Used> {
  if (call.tool.outputSchema !== undefined)
    return validatedText(call, call.tool.outputSchema, returned, limits, share).then(use);
  return serialiseResult(returned, limits, share, (encoded) => use(handledText(call, returned, encoded, limits)));
}

async function validatedText(
  call: OpenCall,
  output: Schema,
  returned: unknown,
  limits: ResultLimits,
  share: Share,
): Promise<HandlerAnswer> {
  const { name } = call.tool;
  // A result that is too large is refused before a schema walks it.
  const returnedText = isLarge(returned) ? await serialiseResult(returned, limits, share) : undefined;
  if (returnedText && returnedText.type !== "text" && returnedText.type !== "not_json")
    return handledText(call, returned, returnedText, limits);
  let validated: ValidationResult;
  try {
    validated = await share.lane.run(() => validate(output, valueOf(returned)));
  } catch (error) {
    return failed(sentences.outputInvalid(name), error);
  }
  if (!validated.ok)
    return failed(sentences.outputInvalid(name), sentences.outputFaults(call.tool, issuesText(validated.issues)));
  return handledText(call, validated.value, await serialiseResult(validated.value, limits, share), limits);
}

export function handledText(call: OpenCall, value: unknown, encoded: ResultText, limits: ResultLimits): HandlerAnswer {
  if (encoded.type !== "text") return noText(call, encoded, limits);
  return { answer: { ok: true, text: encoded.text, bytes: encoded.bytes }, shape: resultType(value) };
}

/** Why a result, or an item of a stream with this index, has no text. */
export function noText(
  { tool: { name }, identity: { callId } }: OpenCall,
  encoded: Exclude<ResultText, { readonly type: "text" }>,
  limits: ResultLimits,
  index?: number,
): FailedAnswer {
  switch (encoded.type) {
    case "not_json":
      return failed(
        sentences.resultNotJson(name, callId),
        index === undefined ? encoded.cause : sentences.itemNotJson(name, index, encoded.cause),
      );
    case "too_large":
      return failed(sentences.resultTooLarge(name, "resultBytes", encoded.bytes, limits.resultBytes, index));
    case "too_many":
      return failed(sentences.resultTooLarge(name, "resultValues", encoded.values, limits.resultValues, index));
    case "spent":
      return { answer: sentences.resultOverBudget(name, encoded.overdraft), overdraft: encoded.overdraft };
  }
}

function failed(answer: Failure, error?: unknown): FailedAnswer {
  return { answer, error };
}

/** A value from outside was JSON when it was journalled, but a journal may come from elsewhere. */
function parseOutside(text: string, { identity }: OpenCall): unknown {
  const value = parsedJson(text);
  if (value !== undefined) return value;
  throw new PortcullisError(
    "journal_invalid",
    `The journal holds a result of call ${identity.callId} of ${identity.tool} that is not JSON.`,
  );
}

/** Whether a value of a handler is a promise, or looks like one. Throws what a getter of it throws. */
export function isThenable<Value>(value: unknown): value is PromiseLike<Value> {
  return isObject(value) && typeof (value as { readonly then?: unknown }).then === "function";
}

// oxlint-disable-next-line typescript/unbound-method -- it is applied to promises
const { then } = Promise.prototype;

/** Awaits a promise as `await` does, which does not look for its own `then`: a handler could give one that answers twice. */
export function awaitPromise<Value>(
  promise: PromiseLike<Value>,
  fulfilled: (value: Value) => void,
  rejected: (error: unknown) => void,
): void {
  void Reflect.apply(then, Promise.resolve(promise), [fulfilled, rejected]);
}
