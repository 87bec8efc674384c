import { types } from "node:util";
import { PortcullisError } from "../../errors.ts";
import { type HeldOverdraft, memoryOf, type Share } from "../held-bytes.ts";
import { isNumbers, isUnusual, iteratorRoom, jsonForm, stringifyUnusual } from "./json-form.ts";
import { JsonText } from "./json-text.ts";
import { measure } from "./json-scanner.ts";
import type { SlicedWork } from "../slice-scheduler.ts";
import { stringInParts } from "./json-parts.ts";
import { GrowingText } from "./growing-text.ts";
import { hasJson, MAX_DEPTH, newScale, type Scale, weigh, weighOn } from "./weigh.ts";

/** Maximum weight of a value that is serialised at once, in bytes. Larger values are serialised in parts of this size. */
const PART_BYTES = 64 * 1024;
/** A list that seems to need more than this part of the allowed bytes is weighed to its end before more of it is serialised. */
const LOOK_AHEAD_PART = 0.5;

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

/** The last large result of each tenant. A tenant's large results are serialised one at a time, because each may take the maximum memory. */
const lastLargeResults = new Map<string, Promise<unknown>>();

/**
 * Serialises a handler's result to JSON; undefined becomes `null`. Maps, sets, typed arrays and iterators become
 * objects and arrays, a bigint a number or its digits. A function, symbol, number that is not finite, invalid date, Error
 * or another object that JSON would leave out, empty or make null is `not_json`. A large result is serialised in parts that
 * yield the host's thread in between, and abandoned as soon as it exceeds `resultBytes` or `resultValues`. Each part is weighed, and its
 * values are counted, before it is serialised. A checked text is the value's. The text is given to `use`, which costs no further promise.
 */
export function serialiseResult<Used = ResultText>(
  value: unknown,
  limits: ResultLimits,
  share: Share,
  use: (text: ResultText) => Used = (text: unknown) => text as Used,
): Used | Promise<Used> {
  if (value instanceof JsonText) return use(checkedText(value, limits));
  const withShort = (made: ResultText | undefined) => (made ? use(made) : longText(value, limits, share).then(use));
  const made = share.lane.run(() => shortText(value, limits));
  return made instanceof Promise ? made.then(withShort) : withShort(made);
}

function checkedText({ text, values }: JsonText, { resultBytes, resultValues }: ResultLimits): ResultText {
  const bytes = Buffer.byteLength(text);
  if (bytes > resultBytes) return { type: "too_large", bytes };
  return values > resultValues ? { type: "too_many", values } : { type: "text", text, bytes, values };
}

/** Undefined if the value must be serialised in parts. */
function shortText(value: unknown, { resultBytes: allowedBytes, resultValues }: ResultLimits): ResultText | undefined {
  try {
    const scale = newScale(PART_BYTES);
    if (weighOn(scale, value) > PART_BYTES) return undefined;
    if (scale.isCounted && scale.values > resultValues) return { type: "too_many", values: scale.values };
    const text = textOf(value, scale, allowedBytes);
    const { values } = scale.isCounted ? scale : measure(text);
    if (values > resultValues) return { type: "too_many", values };
    const bytes = Buffer.byteLength(text);
    return bytes > allowedBytes ? { type: "too_large", bytes } : { type: "text", text, bytes, values };
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

/** If a result has to wait for another result of its tenant, it is weighed first, and about the size of its text is held. */
async function longText(value: unknown, limits: ResultLimits, share: Share): Promise<ResultText> {
  const make = () => share.lane.work(textInParts(value, limits, share));
  if (!lastLargeResults.has(share.lane.tenant)) return afterOtherResults(make, share.lane.tenant);
  const { resultBytes: allowedBytes, resultValues } = limits;
  const tally = { values: 0, allowed: resultValues, isCounted: true };
  let minBytes: number;
  try {
    minBytes = await share.lane.work(weighInParts(value, allowedBytes, 0, tally));
  } catch (cause) {
    // A field may be a getter that throws, or that returns something else each time.
    return { type: "not_json", cause };
  }
  if (minBytes > allowedBytes) return { type: "too_large", bytes: minBytes };
  if (tally.isCounted && tally.values > resultValues) return { type: "too_many", values: tally.values };
  const held = typeof value === "string" ? memoryOf(value) : minBytes;
  const overdraft = share.hold(held);
  if (overdraft) return { type: "spent", overdraft };
  return afterOtherResults(() => {
    share.giveBack(held);
    return make();
  }, share.lane.tenant);
}

/** The values in a result that waits. */
interface Tally {
  values: number;
  readonly allowed: number;
  /** Whether all values were seen. */
  isCounted: boolean;
}

/** A lower bound of the bytes of a large value's JSON. Stops once the bytes exceed `enough`, or the values exceed the number allowed. */
function* weighInParts(value: unknown, enough: number, depth: number, tally: Tally): SlicedWork<number> {
  const scale = newScale(PART_BYTES, 1);
  const weight = weighOn(scale, value);
  const isLeaf = weight <= PART_BYTES || typeof value !== "object" || value === null || isNumbers(value);
  tally.values += isLeaf ? scale.values : 1;
  tally.isCounted &&= scale.isCounted;
  if (isLeaf) return weight;
  if (depth === MAX_DEPTH) return 0;
  let sum = 2;
  const parts: Iterable<unknown> = Array.isArray(value) || value instanceof Set ? value : valuesOf(value);
  for (const part of parts) {
    sum += yield* weighInParts(part, enough - sum, depth + 1, tally);
    if (sum > enough || (tally.isCounted && tally.values > tally.allowed)) break;
    yield;
  }
  return sum;
}

function valuesOf(record: object): Iterable<unknown> {
  return record instanceof Map ? record.values() : Object.values(record);
}

function afterOtherResults(make: () => ResultText | Promise<ResultText>, tenant: string): Promise<ResultText> {
  const made = (lastLargeResults.get(tenant) ?? Promise.resolve()).then(make);
  lastLargeResults.set(tenant, made);
  return made.finally(() => {
    if (lastLargeResults.get(tenant) === made) lastLargeResults.delete(tenant);
  });
}

/** Holds the memory of the text made so far. */
function* textInParts(
  value: unknown,
  { resultBytes: allowedBytes, resultValues }: ResultLimits,
  share: Share,
): SlicedWork<ResultText> {
  let text: GrowingText | undefined;
  let held = 0;
  const making = { values: 0, within: new Set<object>(), allowedBytes, allowedValues: resultValues };
  try {
    text = new GrowingText();
    for (const part of partsOf(value, "", making)) {
      const partBytes = typeof part === "string" ? Buffer.byteLength(part) : part;
      if (making.values > resultValues) return { type: "too_many", values: making.values };
      const minBytes = text.bytes + partBytes;
      if (minBytes > allowedBytes) return { type: "too_large", bytes: minBytes };
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

/** The text that is being made of a large value. */
interface Making {
  /** Values in the parts so far. */
  values: number;
  /** The objects that hold what is being made. */
  readonly within: Set<object>;
  readonly allowedBytes: number;
  readonly allowedValues: number;
}

/**
 * The text that `JSON.stringify` makes of a value, in parts. One difference: a row's own `toJSON` may be passed another
 * index. A yielded number is a lower bound of the bytes that follow, so that the reader can stop before they are made.
 */
function* partsOf(returned: unknown, name: string, making: Making): Generator<string | number> {
  const { within, allowedBytes } = making;
  const made = hasJson(returned) ? returned.toJSON(name) : returned;
  const json = types.isBoxedPrimitive(made) ? made.valueOf() : made;
  const isRecord = typeof json === "object" && json !== null;
  if (isRecord && within.has(json)) throw new TypeError("The result contains itself.");
  const value = isRecord && isUnusual(json) && !isNumbers(json) ? jsonForm(json, iteratorRoom(allowedBytes)) : json;
  const isList = Array.isArray(value) || isNumbers(value);
  if (typeof value === "string" || isList) yield value.length;
  // Holes of a list are values too, and take no memory.
  if (isList && making.values + value.length > making.allowedValues) {
    making.values += value.length;
    return;
  }
  if (typeof value === "string" && value.length > PART_BYTES) {
    making.values += 1;
    return yield* stringInParts(value);
  }
  const part = new Part(making);
  if (typeof value !== "object" || value === null || part.weigh(value) <= PART_BYTES) {
    part.take();
    yield part.textOf(value);
    return;
  }
  making.values += 1;
  if (isRecord) within.add(json);
  if (isList) yield* rowsOf(value, making);
  else yield* fieldsOf(value as Record<string, unknown>, making);
  if (isRecord) within.delete(json);
}

/** Rows or fields that become text together: what they weigh, and how many values they hold. */
class Part {
  weight = 0;
  readonly #making: Making;
  readonly #scale = newScale(PART_BYTES);
  #values = 0;
  #isCounted = true;

  constructor(making: Making) {
    this.#making = making;
  }

  /** Weighs a value that may be taken next. */
  weigh(value: unknown): number {
    this.#scale.values = 0;
    this.#scale.isCounted = true;
    const weight = weighOn(this.#scale, value);
    if (typeof value === "function" || typeof value === "symbol") this.#scale.unusual = true;
    return weight;
  }

  /** Takes the value that was weighed last. */
  take(weight = 0): void {
    this.weight += weight;
    this.#values += this.#scale.values;
    this.#isCounted &&= this.#scale.isCounted;
  }

  /** The text of the values taken. Values that could not be counted before are counted in the text. */
  textOf(value: unknown): string {
    const text = textOf(value, this.#scale, this.#making.allowedBytes);
    this.#making.values += this.#isCounted ? this.#values : measure(text).values;
    return text;
  }

  /** The text of a container of the values taken, without its brackets, and with a comma before it if `comma` is set. Empties the part. */
  innerTextOf(container: object, comma: boolean): string {
    const text = this.textOf(container).slice(1, -1);
    // `measure` has counted the container a second time.
    if (!this.#isCounted) this.#making.values -= 1;
    this.weight = 0;
    this.#values = 0;
    this.#isCounted = true;
    return comma && text !== "" ? `,${text}` : text;
  }
}

function* rowsOf(rows: ArrayLike<unknown>, making: Making): Generator<string | number> {
  const part = new Part(making);
  yield "[";
  let from = 0;
  let passed = 0;
  let lookAt = PART_BYTES / 2;
  for (let index = 0; index < rows.length; index += 1) {
    const weight = part.weigh(rows[index]);
    if (part.weight + weight > PART_BYTES) {
      passed += part.weight;
      if (passed > lookAt) {
        const isLong = (passed / index) * rows.length > making.allowedBytes * LOOK_AHEAD_PART;
        lookAt = isLong ? Number.POSITIVE_INFINITY : passed * 2;
        if (isLong) yield* lookAhead(rows, index);
      }
      if (index > from) yield part.innerTextOf(rowsBetween(rows, from, index), from > 0);
      from = index;
    }
    if (weight <= PART_BYTES) part.take(weight);
    else {
      if (index > 0) yield ",";
      yield* partsOf(rows[index], String(index), making);
      from = index + 1;
    }
  }
  if (rows.length > from) yield part.innerTextOf(rowsBetween(rows, from, rows.length), from > 0);
  yield "]";
}

function rowsBetween(rows: ArrayLike<unknown>, from: number, to: number): unknown[] {
  return Array.prototype.slice.call(rows, from, to) as unknown[];
}

/** Weighs the remaining rows, so that a list that is far too large is refused before half of it has become text. */
function* lookAhead(rows: ArrayLike<unknown>, from: number): Generator<number> {
  let minBytes = 0;
  for (let index = from, nextReport = PART_BYTES; index < rows.length; index += 1) {
    minBytes += weigh(rows[index], PART_BYTES, 1) + 1;
    if (minBytes < nextReport) continue;
    nextReport += PART_BYTES;
    yield minBytes;
  }
}

function* fieldsOf(record: Readonly<Record<string, unknown>>, making: Making): Generator<string | number> {
  yield "{";
  const part = new Part(making);
  let isFirst = true;
  let fields: [string, unknown][] = [];
  const collected = (): string => {
    const text = part.innerTextOf(Object.fromEntries(fields), !isFirst);
    if (text !== "") isFirst = false;
    fields = [];
    return text;
  };
  for (const name of Object.keys(record)) {
    const field = record[name];
    if (field === undefined) continue;
    const weight = part.weigh(field);
    if (weight > PART_BYTES) {
      yield collected();
      yield `${isFirst ? "" : ","}${JSON.stringify(name)}:`;
      isFirst = false;
      yield* partsOf(field, name, making);
    } else {
      fields.push([name, field]);
      part.take(name.length + weight);
      if (part.weight > PART_BYTES) yield collected();
    }
  }
  yield collected();
  yield "}";
}

/** JSON text of a value that was weighed on this scale. The general way takes several times as long. */
function textOf(value: unknown, scale: Scale, allowedBytes: number): string {
  return (scale.unusual ? stringifyUnusual(value, allowedBytes) : JSON.stringify(value)) ?? "null";
}

/** A short description of a result's type, for people: `array of 200`. */
export function resultType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof JsonText) return value.type;
  if (Array.isArray(value)) return `array of ${value.length}`;
  return typeof value;
}
