import { isUint8Array } from "node:util/types";
import { Content } from "../../tools/content.ts";
import { issuesText, type Schema, type Validated, validate } from "../../tools/schema.ts";
import {
  isLarge,
  memoryOf,
  type ResultLimits,
  type ResultText,
  serialiseResult,
  type Share,
} from "../../base/index.ts";
import type { Failed } from "../run/handled.ts";
import type { OpenCall } from "../open-call.ts";
import * as sentences from "../sentences.ts";
import { isThenable, settled } from "../run/foreign-promise.ts";
import type { ItemText } from "./next-batch.ts";

export interface ItemParts {
  readonly call: OpenCall;
  readonly limits: ResultLimits;
  readonly share: Share;
  /** Whether the items fitted the schema before: what it makes of a value may not fit it again. */
  readonly areRecorded?: boolean;
}

/** An item as text, or why it ends the stream. */
type Read = ItemText | Failed;

/**
 * Checks an item that a handler has yielded, and makes its text. `index` counts from 0. Returns a promise only if it must
 * wait, because it runs for every item. Never throws or rejects. Nothing is held for the text yet.
 */
export function itemText(parts: ItemParts, index: number, value: unknown): Read | Promise<Read> {
  const failed = (error: unknown): Failed => notRead(parts, sentences.itemNotJson(parts.call.tool.name, index, error));
  try {
    const read = readItem(parts, index, value);
    return read instanceof Promise ? read.catch(failed) : read;
  } catch (error) {
    return failed(error);
  }
}

function readItem(parts: ItemParts, index: number, value: unknown): Read | Promise<Read> {
  const { name, outputSchema: output } = parts.call.tool;
  if (parts.areRecorded) return encoded(parts, index, value);
  if (Content.is(value)) return notRead(parts, sentences.yieldedContent(name, index));
  if (isUint8Array(value)) return notRead(parts, sentences.yieldedBytes(name, index));
  if (isThenable(value)) {
    settled(value, ignore, ignore);
    return notRead(parts, sentences.yieldedPromise(name, index));
  }
  if (output === undefined) return encoded(parts, index, value);
  return isLarge(value) ? validatedLarge(parts, index, value, output) : validated(parts, index, value, output);
}

/** An item that is too large is refused before a schema walks it. */
async function validatedLarge(parts: ItemParts, index: number, value: unknown, output: Schema): Promise<Read> {
  const text = await serialiseResult(value, parts.limits, parts.share);
  return text.type === "text" || text.type === "not_json"
    ? validated(parts, index, value, output)
    : refused(parts, index, text);
}

function validated(parts: ItemParts, index: number, value: unknown, output: Schema): Read | Promise<Read> {
  const { tool } = parts.call;
  const failed = (error: unknown): Failed => ({ answer: sentences.itemInvalid(tool.name, index), error });
  const take = (result: Validated): Read | Promise<Read> =>
    result.ok
      ? encoded(parts, index, result.value)
      : failed(sentences.itemFaults(tool, index, issuesText(result.issues)));
  let result: Validated | Promise<Validated>;
  try {
    result = parts.share.lane.run(() => validate(output, value));
  } catch (error) {
    return failed(error);
  }
  return result instanceof Promise ? result.then(take, failed) : take(result);
}

function encoded(parts: ItemParts, index: number, value: unknown): Read | Promise<Read> {
  if (value === undefined) return notRead(parts, sentences.yieldedNothing(parts.call.tool.name, index));
  return serialiseResult(value, parts.limits, parts.share, (text) => {
    if (text.type !== "text") return refused(parts, index, text);
    const { bytes, values } = text;
    return { text: text.text, bytes, values, heldBytes: memoryOf(text.text, bytes) };
  });
}

function refused(parts: ItemParts, index: number, text: Exclude<ResultText, { readonly type: "text" }>): Failed {
  const { call, limits } = parts;
  const { name } = call.tool;
  switch (text.type) {
    case "not_json":
      return notRead(parts, sentences.itemNotJson(name, index, text.cause));
    case "too_large":
      return { answer: sentences.itemTooLarge(name, index, text.bytes, limits.resultBytes) };
    case "too_many":
      return { answer: sentences.itemTooMany(name, index, text.values, limits.resultValues) };
    case "spent":
      return { answer: sentences.resultOverBudget(name, text.overdraft), overdraft: text.overdraft };
  }
}

/** The item is no item. The operator is told why. */
function notRead({ call }: ItemParts, error: unknown): Failed {
  return { answer: sentences.resultNotJson(call.tool.name, call.identity.callId), error };
}

const ignore = (): void => {};
