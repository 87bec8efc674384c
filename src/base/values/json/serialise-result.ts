import { PortcullisError } from "../../errors.ts";
import type { HeldOverdraft, Share } from "../held-bytes.ts";
import { JsonText } from "./json-text.ts";
import type { SlicedWork } from "../slice-scheduler.ts";
import { Making, PART_BYTES, partsOf, writtenText } from "./json-parts.ts";
import { growingText } from "./growing-text.ts";
import { newScale, weigh, weighOn } from "./weigh.ts";

export type ResultText =
  /** `values` is the number of values in the text, or an upper bound of it. */
  | { readonly type: "text"; readonly text: string; readonly bytes: number; readonly values: number }
  /** `bytes` is a lower bound of the text's size. */
  | { readonly type: "too_large"; readonly bytes: number }
  /** `values` is a lower bound of the number of values. */
  | { readonly type: "too_many"; readonly values: number }
  /** The memory budget has no room for the text. */
  | { readonly type: "spent"; readonly overdraft: HeldOverdraft }
  | { readonly type: "not_json"; readonly cause: unknown };

export interface ResultLimits {
  readonly resultBytes: number;
  readonly resultValues: number;
}

/** Cause of a `result_too_large` that a handler throws: the result holds too many values, not too many bytes. */
export class TooManyValues extends Error {
  /** More than these were seen; by default `resultValues`. */
  readonly seen: number | undefined;

  constructor(seen?: number) {
    super(`The result holds more than ${seen ?? "`resultValues`"} values.`);
    this.seen = seen;
  }
}

export function tooManyValues(seen?: number): PortcullisError {
  const cause = new TooManyValues(seen);
  return new PortcullisError("result_too_large", cause.message, { cause });
}

/**
 * Serialises a handler's result to JSON; undefined becomes `null`. Maps, sets, typed arrays and iterators become
 * objects and arrays, a bigint a number or its digits. A function, symbol, number that is not finite, invalid date, Error
 * or another object that JSON would leave out, empty or make null is `not_json`. A large result is serialised in parts that
 * yield the host's thread in between, and abandoned as soon as it exceeds `resultBytes` or `resultValues`. Each part is weighed
 * before it is serialised. A checked text is the value's. The text is given to `use`, which costs no further promise.
 */
export function serialiseResult<Used = ResultText>(
  value: unknown,
  limits: ResultLimits,
  share: Share,
  use: (text: ResultText) => Used = (text: unknown) => text as Used,
): Used | Promise<Used> {
  if (value instanceof JsonText) return use(checkedText(value, limits));
  const withShort = (result: ResultText | undefined) => {
    const text = result ?? share.lane.work(textInParts(value, limits, share));
    return text instanceof Promise ? text.then(use) : use(text);
  };
  const attempt = share.lane.run(() => shortText(value, limits));
  return attempt instanceof Promise ? attempt.then(withShort) : withShort(attempt);
}

function checkedText(
  { text, values }: Pick<JsonText, "text" | "values">,
  { resultBytes, resultValues }: ResultLimits,
): ResultText {
  if (values > resultValues) return { type: "too_many", values };
  const bytes = Buffer.byteLength(text);
  return bytes > resultBytes ? { type: "too_large", bytes } : { type: "text", text, bytes, values };
}

/** Undefined if the value must be serialised in parts. */
function shortText(value: unknown, limits: ResultLimits): ResultText | undefined {
  try {
    const scale = newScale(PART_BYTES);
    if (weighOn(scale, value) > PART_BYTES) return undefined;
    return checkedText(writtenText(value, scale, limits.resultBytes), limits);
  } catch (cause) {
    return { type: "not_json", cause };
  }
}

/** Whether a result is serialised in parts. */
export function isLarge(value: unknown): boolean {
  try {
    return weigh(value, PART_BYTES) > PART_BYTES;
  } catch {
    return false;
  }
}

/** Holds the memory of the text made so far. */
function* textInParts(
  value: unknown,
  { resultBytes, resultValues }: ResultLimits,
  share: Share,
): SlicedWork<ResultText> {
  let text: ReturnType<typeof growingText> | undefined;
  let held = 0;
  const making = new Making(resultBytes, resultValues);
  try {
    text = growingText();
    for (const part of partsOf(value, "", making)) {
      const partBytes = typeof part === "string" ? Buffer.byteLength(part) : part;
      if (making.values > resultValues) break;
      const minBytes = text.bytes + partBytes;
      if (minBytes > resultBytes) return { type: "too_large", bytes: minBytes };
      if (typeof part === "string") text.add(part, partBytes);
      const more = text.heldBytes - held;
      const overdraft = share.hold(more);
      if (overdraft) return { type: "spent", overdraft };
      held += more;
      yield;
    }
    if (making.values > resultValues) return { type: "too_many", values: making.values };
    return { type: "text", text: text.toString(), bytes: text.bytes, values: making.values };
  } catch (cause) {
    return { type: "not_json", cause };
  } finally {
    share.giveBack(held);
    text?.free();
  }
}

/** A short description of a result's type, for people: `array of 200`. */
export function resultType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof JsonText) return value.type;
  if (Array.isArray(value)) return `array of ${value.length}`;
  return typeof value;
}
