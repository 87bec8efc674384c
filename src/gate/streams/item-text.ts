import { isUint8Array } from "node:util/types";
import { Content } from "../../tools/content.ts";
import { issuesText, type Schema, type ValidationResult, validate } from "../../tools/schema.ts";
import { ignore, isLarge, memoryOf, type ResultLimits, serialiseResult, type Share } from "../../base/index.ts";
import type { FailedAnswer } from "../answer.ts";
import type { OpenCall } from "../open-call.ts";
import * as sentences from "../sentences.ts";
import { isThenable, noText, awaitPromise } from "../run/run-handler.ts";
import type { ItemText } from "./next-batch.ts";

export interface ItemParts {
  readonly call: OpenCall;
  readonly limits: ResultLimits;
  readonly share: Share;
  /** Whether the items fitted the schema before: what it makes of a value may not fit it again. */
  readonly areRecorded?: boolean;
}

/** An item as text, or why it ends the stream. */
type Read = ItemText | FailedAnswer;

/**
 * Checks an item that a handler has yielded, and makes its text. `index` counts from 0. Returns a promise only if it must
 * wait, because it runs for every item. Never throws or rejects. Nothing is held for the text yet.
 */
export function itemText(parts: ItemParts, index: number, value: unknown): Read | Promise<Read> {
  const failed = (cause: unknown): FailedAnswer => noText(parts.call, { type: "not_json", cause }, parts.limits, index);
  try {
    const read = readItem(parts, index, value);
    return read instanceof Promise ? read.catch(failed) : read;
  } catch (error) {
    return failed(error);
  }
}

function readItem(parts: ItemParts, index: number, value: unknown): Read | Promise<Read> {
  const { outputSchema: output } = parts.call.tool;
  if (parts.areRecorded) return encoded(parts, index, value);
  if (Content.is(value)) return noItem(parts, index, "is made by content(): yield its value alone");
  if (isUint8Array(value))
    return noItem(
      parts,
      index,
      "is a chunk of bytes: decode the bytes, and yield values, such as the lines of node:readline",
    );
  if (isThenable(value)) {
    awaitPromise(value, ignore, ignore);
    return noItem(parts, index, "is a promise: await it before you yield it");
  }
  if (output === undefined) return encoded(parts, index, value);
  return isLarge(value) ? validatedLarge(parts, index, value, output) : validated(parts, index, value, output);
}

/** An item that is too large is refused before a schema walks it. */
async function validatedLarge(parts: ItemParts, index: number, value: unknown, output: Schema): Promise<Read> {
  const text = await serialiseResult(value, parts.limits, parts.share);
  return text.type === "text" || text.type === "not_json"
    ? validated(parts, index, value, output)
    : noText(parts.call, text, parts.limits, index);
}

function validated(parts: ItemParts, index: number, value: unknown, output: Schema): Read | Promise<Read> {
  const { tool } = parts.call;
  const failed = (error: unknown): FailedAnswer => ({ answer: sentences.itemInvalid(tool.name, index), error });
  const take = (result: ValidationResult): Read | Promise<Read> =>
    result.ok
      ? encoded(parts, index, result.value)
      : failed(sentences.itemFaults(tool, index, issuesText(result.issues)));
  let result: ValidationResult | Promise<ValidationResult>;
  try {
    result = parts.share.lane.run(() => validate(output, value));
  } catch (error) {
    return failed(error);
  }
  return result instanceof Promise ? result.then(take, failed) : take(result);
}

function encoded(parts: ItemParts, index: number, value: unknown): Read | Promise<Read> {
  if (value === undefined) return noItem(parts, index, "is undefined: yield null for an item without a value");
  return serialiseResult(value, parts.limits, parts.share, (text) => {
    if (text.type !== "text") return noText(parts.call, text, parts.limits, index);
    const { bytes, values } = text;
    return { text: text.text, bytes, values, heldBytes: memoryOf(text.text, bytes) };
  });
}

/** The item is no item. The operator is told why. */
function noItem({ call: { tool, identity } }: ItemParts, index: number, what: string): FailedAnswer {
  return {
    answer: sentences.resultNotJson(tool.name, identity.callId),
    error: sentences.noItem(tool.name, index, what),
  };
}
