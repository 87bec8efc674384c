import { type HeldOverdraft, memoryOf, type Share } from "./held-bytes.ts";
import type { SlicedWork } from "./slice-scheduler.ts";

/** Levels of nesting that are weighed; what is deeper is left to the serialiser. */
const DEPTH = 1000;
/** JSON that is made in one go, in bytes by weight. Longer texts are made in parts of this size. */
const PART_BYTES = 64 * 1024;
/** Weight of a list's first rows, in bytes, after which the others are weighed before any more are made text. */
const LOOK_BYTES = 4 * 1024 * 1024;
/** What a value with a `toJSON` is taken to weigh, which only asking it would tell. */
const UNASKED_BYTES = 4096;
const DATE_BYTES = 26;

export type ResultText =
  | { readonly type: "text"; readonly text: string; readonly bytes: number }
  /** `bytes` is at least what the text would have had. */
  | { readonly type: "too_large"; readonly bytes: number }
  /** There is no room in memory for the text. */
  | { readonly type: "spent"; readonly overdraft: HeldOverdraft }
  | { readonly type: "not_json"; readonly cause: unknown };

/** The last of a tenant's large results. They are made text one after the other: each may take as much memory as a result is allowed. */
const lastLargeOnes = new Map<string, Promise<unknown>>();

/**
 * JSON text of what a handler returned; nothing returned is `null`. A large one is made in parts, while others get
 * the host's thread in between, and given up as soon as it has more bytes than allowed.
 */
export function resultText(value: unknown, allowedBytes: number, share: Share): ResultText | Promise<ResultText> {
  const made = share.lane.run(() => shortText(value, allowedBytes));
  if (made instanceof Promise) return made.then((late) => late ?? longText(value, allowedBytes, share));
  return made ?? longText(value, allowedBytes, share);
}

/** Undefined where the text is to be made in parts. */
function shortText(value: unknown, allowedBytes: number): ResultText | undefined {
  try {
    if (weigh(value, PART_BYTES) > PART_BYTES) return undefined;
    const text = JSON.stringify(value) ?? "null";
    const bytes = Buffer.byteLength(text);
    return bytes > allowedBytes ? { type: "too_large", bytes } : { type: "text", text, bytes };
  } catch (cause) {
    return { type: "not_json", cause };
  }
}

/** Whether a result's text is made in parts. */
export function isLarge(value: unknown): boolean {
  try {
    return weigh(value, PART_BYTES) > PART_BYTES;
  } catch {
    return false;
  }
}

/** While a large value waits for its turn, it is held for about as much as its text will be. */
async function longText(value: unknown, allowedBytes: number, share: Share): Promise<ResultText> {
  let least: number;
  try {
    least = await share.lane.work(weighInParts(value, allowedBytes, 0));
  } catch (cause) {
    // A field may be a function that throws, or that gives something else each time.
    return { type: "not_json", cause };
  }
  if (least > allowedBytes) return { type: "too_large", bytes: least };
  const held = typeof value === "string" ? memoryOf(value) : least;
  const overdraft = share.hold(held);
  if (overdraft) return { type: "spent", overdraft };
  return textAtItsTurn(() => {
    share.giveBack(held);
    return share.lane.work(textInParts(value, allowedBytes, share));
  }, share.lane.tenant);
}

/** Bytes that a large value's JSON has at least, as far as that is not over `enough`. */
function* weighInParts(value: unknown, enough: number, depth: number): SlicedWork<number> {
  const weight = weigh(value, PART_BYTES, 1);
  if (weight <= PART_BYTES || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return weight;
  if (depth === DEPTH) return 0;
  let sum = 2;
  const parts: Iterable<unknown> = Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) {
    sum += yield* weighInParts(part, enough - sum, depth + 1);
    if (sum > enough) break;
    yield;
  }
  return sum;
}

function textAtItsTurn(make: () => ResultText | Promise<ResultText>, tenant: string): Promise<ResultText> {
  const made = (lastLargeOnes.get(tenant) ?? Promise.resolve()).then(make);
  lastLargeOnes.set(tenant, made);
  return made.finally(() => {
    if (lastLargeOnes.get(tenant) === made) lastLargeOnes.delete(tenant);
  });
}

/** While the text is made, what there is of it is held. */
function* textInParts(value: unknown, allowedBytes: number, share: Share): SlicedWork<ResultText> {
  // Added up rather than joined: that makes no copy, and the frame it goes into will be one.
  let text = "";
  let bytes = 0;
  let held = 0;
  try {
    for (const part of partsOf(value, "", new Set())) {
      if (typeof part === "string") {
        text += part;
        bytes += Buffer.byteLength(part);
      }
      const least = bytes + (typeof part === "string" ? 0 : part);
      if (least > allowedBytes) return { type: "too_large", bytes: least };
      const more = memoryOf(text, bytes) - held;
      const overdraft = share.hold(more);
      if (overdraft) return { type: "spent", overdraft };
      held += more;
      yield;
    }
  } catch (cause) {
    return { type: "not_json", cause };
  } finally {
    share.giveBack(held);
  }
  return { type: "text", text, bytes };
}

/**
 * The parts of the text that `JSON.stringify` makes of a value, but that a row's own `toJSON` may be told another
 * index. A number says how many bytes will follow at least, for the reader to stop before they are made.
 */
function* partsOf(returned: unknown, name: string, within: Set<object>): Generator<string | number> {
  if (ArrayBuffer.isView(returned)) yield returned.byteLength * 2;
  const value = hasJson(returned) ? returned.toJSON(name) : returned;
  if (typeof value === "string" || Array.isArray(value)) yield value.length;
  if (typeof value !== "object" || value === null || weigh(value, PART_BYTES) <= PART_BYTES) {
    yield JSON.stringify(value) ?? "null";
    return;
  }
  if (within.has(value)) throw new TypeError("The result holds itself.");
  within.add(value);
  if (Array.isArray(value)) yield* rowsOf(value, within);
  else yield* fieldsOf(value as Record<string, unknown>, within);
  within.delete(value);
}

function* rowsOf(rows: readonly unknown[], within: Set<object>): Generator<string | number> {
  yield "[";
  let from = 0;
  let weight = 0;
  let passed = 0;
  for (let index = 0; index < rows.length; index += 1) {
    const rowWeight = weigh(rows[index], PART_BYTES);
    weight += rowWeight;
    if (weight <= PART_BYTES) continue;
    if (passed < LOOK_BYTES && passed + weight >= LOOK_BYTES) yield* lookAhead(rows, index);
    passed += weight;
    if (index > from) yield innerText(rows.slice(from, index), from > 0);
    if (rowWeight > PART_BYTES) {
      if (index > 0) yield ",";
      yield* partsOf(rows[index], String(index), within);
      from = index + 1;
      weight = 0;
    } else {
      from = index;
      weight = rowWeight;
    }
  }
  if (rows.length > from) yield innerText(rows.slice(from), from > 0);
  yield "]";
}

/** Weighs the rows to come, without making them text: a list that is far too long is not to leave its half behind as garbage. */
function* lookAhead(rows: readonly unknown[], from: number): Generator<number> {
  let least = 0;
  for (let index = from, told = PART_BYTES; index < rows.length; index += 1) {
    least += weigh(rows[index], PART_BYTES, 1) + 1;
    if (least < told) continue;
    told += PART_BYTES;
    yield least;
  }
}

function* fieldsOf(record: Readonly<Record<string, unknown>>, within: Set<object>): Generator<string | number> {
  yield "{";
  let isFirst = true;
  let fields: [string, unknown][] = [];
  let weight = 0;
  const collected = (): string => {
    const text = innerText(Object.fromEntries(fields), !isFirst);
    if (text !== "") isFirst = false;
    fields = [];
    weight = 0;
    return text;
  };
  for (const name of Object.keys(record)) {
    const field = record[name];
    const fieldWeight = weigh(field, PART_BYTES);
    if (fieldWeight > PART_BYTES) {
      yield collected();
      yield `${isFirst ? "" : ","}${JSON.stringify(name)}:`;
      isFirst = false;
      yield* partsOf(field, name, within);
    } else {
      fields.push([name, field]);
      weight += name.length + fieldWeight;
      if (weight > PART_BYTES) yield collected();
    }
  }
  yield collected();
  yield "}";
}

/** What stands between the brackets of a container's text, and the comma before it where something is. */
function innerText(container: object, comma: boolean): string {
  const text = JSON.stringify(container).slice(1, -1);
  return comma && text !== "" ? `,${text}` : text;
}

function hasJson(value: unknown): value is { toJSON(name: string): unknown } {
  return typeof value === "object" && value !== null && typeof (value as { toJSON?: unknown }).toJSON === "function";
}

/**
 * About so many bytes of JSON a value would have: at least, but for what has a `toJSON`, each of which counts as
 * `unasked`. It stops counting once that is over `enough`.
 */
export function weigh(value: unknown, enough: number, unasked = UNASKED_BYTES): number {
  return add(0, value, { enough, unasked }, 0);
}

interface Scale {
  readonly enough: number;
  readonly unasked: number;
}

function add(bytes: number, value: unknown, scale: Scale, depth: number): number {
  if (typeof value === "string") return bytes + value.length + 2;
  if (typeof value !== "object" || value === null) return bytes + 1;
  if (ArrayBuffer.isView(value)) return bytes + value.byteLength * 2;
  if (value instanceof Date) return bytes + DATE_BYTES;
  if (hasJson(value)) return bytes + scale.unasked;
  if (depth === DEPTH) return bytes;
  if (Array.isArray(value)) {
    let sum = bytes + 2 + Math.max(0, value.length - 1);
    for (let index = 0; index < value.length && sum <= scale.enough; index += 1)
      sum = add(sum, value[index], scale, depth + 1);
    return sum;
  }
  // A brace for the first field, and a comma for each other, stand before its name; a field of undefined is left out.
  let sum = bytes + 1;
  for (const key of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[key];
    if (field === undefined || typeof field === "function" || typeof field === "symbol") continue;
    sum = add(sum + key.length + 4, field, scale, depth + 1);
    if (sum > scale.enough) break;
  }
  return Math.max(sum, bytes + 2);
}

/** What kind of value a result is, in a word or two, for people: `array of 200`. */
export function resultType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return `array of ${value.length}`;
  return typeof value;
}
