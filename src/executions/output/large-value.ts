import {
  betweenText,
  cleanText,
  type CutTexts,
  type Ends,
  endsOf,
  isAnyObject,
  isFields,
  sumOf,
  type TextRest,
  weigh,
} from "../../base/index.ts";
import { entryCount, cut, shapeText } from "../../gate/run/value-shape.ts";

/** Summary that replaces a value that is too large. */
export interface Stub {
  /** Marks a stub, and says what to do. */
  readonly too_large: string;
  /** The name under which the whole value is kept; absent if it is not. */
  readonly artifact?: string;
  /** UTF-8 bytes of the whole value's JSON. */
  readonly bytes: number;
  /** TypeScript type of the value, inferred from its first rows. */
  readonly shape: string;
  /** Rows of an array, or fields of an object. */
  readonly count?: number;
  /** As much of the value's beginning as fits: rows, fields or characters. Of a text within it, both ends are shown. */
  readonly first?: unknown;
  /** Of a text: the characters that are left out after `first`. */
  readonly between?: number;
  /** Of a text: as much of its end as fits. */
  readonly last?: string;
}

const SHAPE_LENGTHS = [2000, 400, 100, 20];

export interface LargeValue {
  readonly value: unknown;
  /** UTF-8 bytes of the whole value's JSON. */
  readonly bytes: number;
  /** Full number of entries of the containers that are truncated in `value`. */
  readonly counts: ReadonlyMap<object, number>;
  /** What is missing of texts that are cut in `value`. */
  readonly texts?: CutTexts | undefined;
}

/**
 * Bytes of a stub of a value that a program can select from: its shape and a few rows say how, and more of them would be
 * paid for in each later turn. Of a text, whose words are wanted themselves, all that may be shown.
 */
export function shownOfLarge(value: unknown, outputBytes: number): number {
  return typeof value === "string" ? outputBytes : Math.min(outputBytes, SHOWN_BYTES);
}

const SHOWN_BYTES = 4 * 1024;

/** A stub whose cleaned JSON has at most `allowedBytes`. If no stub is so short, the shortest, of about 200 bytes. */
export function stubOf(large: LargeValue, allowedBytes: number, advice: string, artifact?: string): Stub {
  const { value, bytes, counts } = large;
  const count = isAnyObject(value) ? { count: entryCount(value, counts) } : {};
  // As long as the text about any beginning of it.
  const about = shownText({ bytes, ...count, first: value }, bytes);
  const base = { too_large: `${about} ${advice}`, artifact, bytes };
  for (const length of SHAPE_LENGTHS) {
    const shape = cut(cleanText(shapeText(value, counts, length)), length);
    const bare: Stub = { ...base, shape, ...count };
    if (cleanSize(bare) > allowedBytes) continue;
    const stub = withFirst(bare, large, allowedBytes);
    return { ...stub, too_large: `${shownText(stub)} ${advice}` };
  }
  const shape = Array.isArray(value) ? "array" : typeof value;
  return { ...base, too_large: `${shownText(base)} ${advice}`, shape, ...count };
}

type Shown = Pick<Stub, "bytes" | "count" | "first" | "last">;

function shownText({ bytes, count, first, last }: Shown, shown = Math.min(bytes, sizeOf(first) + sizeOf(last))) {
  if (first === undefined) return `None of ${bytes} bytes are shown.`;
  if (last !== undefined) return `Its ends are shown, ${shown} of ${bytes} bytes.`;
  return isFields(first) && Object.keys(first).length === count
    ? `The beginning of each field is shown, ${shown} of ${bytes} bytes.`
    : `The first ${shown} of ${bytes} bytes are shown.`;
}

/** Adds as much of the value as fits. Retries with less room, because cleaning makes text longer. */
function withFirst(bare: Stub, large: LargeValue, allowedBytes: number): Stub {
  for (let room = allowedBytes - cleanSize(bare) - ',"first":'.length; room > 0; room = Math.floor(room / 2)) {
    const shown = shownPart(large, room);
    if (shown === undefined) return bare;
    const stub = { ...bare, ...shown };
    if (cleanSize(stub) <= allowedBytes) return stub;
  }
  return bare;
}

function shownPart({ value, texts = NONE }: LargeValue, room: number): Partial<Stub> | undefined {
  const ends = typeof value === "string" ? endsWithin(value, room, restIn(texts, undefined, "")) : undefined;
  if (ends) return ends;
  const first = sample(value, room, texts);
  return first === undefined ? undefined : { first };
}

const NONE: CutTexts = new Map();

function restIn(texts: CutTexts, container: object | undefined, name: string): TextRest | undefined {
  return texts.get(container)?.get(name);
}

/** The beginning of a value, of at most `room` bytes of JSON; undefined if nothing fits. `rest` is what is missing of a text. */
function sample(value: unknown, room: number, texts: CutTexts, rest?: TextRest): unknown {
  if (room < 2) return undefined;
  if (typeof value === "string") return room < 16 ? undefined : fitText(value, room, rest);
  if (Array.isArray(value)) return sampleRows(value, room, texts);
  if (isAnyObject(value)) return sampleFields(value, room, texts);
  return sizeWithin(value, room) === undefined ? undefined : value;
}

function sampleRows(rows: readonly unknown[], room: number, texts: CutTexts): unknown[] | undefined {
  const parts: unknown[] = [];
  let budget = room - 2;
  for (const row of rows) {
    const size = sizeWithin(row, budget - 1);
    if (size === undefined) break;
    budget -= size + 1;
    parts.push(row);
  }
  if (parts.length > 0 || rows.length === 0) return parts;
  const part = sample(rows[0], room - 3, texts, restIn(texts, rows, "0"));
  return part === undefined ? undefined : [part];
}

/** The beginning of each field, in the order of the fields. Short fields are whole, and the long ones share what they leave. */
function sampleFields(value: object, room: number, texts: CutTexts): object | undefined {
  const entries = Object.entries(value).slice(0, Math.max(FIELDS_SHARING, room / FIELD_LENGTH));
  const all = entries.map(([name, field]) => {
    const head = sizeOf(name) + 2;
    return { name, field, head, size: sizeWithin(field, room) ?? room };
  });
  // So many names are data: of them, the first are shown, like rows.
  const whole = firstWithin(all, room - 2, ({ head, size }) => head + size);
  const fields = all.slice(0, Math.max(FIELDS_SHARING, whole.length));
  const parts = new Map<string, unknown>();
  let budget = room - 2 - sumOf(fields, ({ head }) => head + sizeOf(LEFT_OUT));
  for (const [index, { name, field, size }] of fields.toSorted((a, b) => a.size - b.size).entries()) {
    const share = Math.max(0, Math.floor(budget / (fields.length - index))) + sizeOf(LEFT_OUT);
    const part = size <= share ? field : (sample(field, share, texts, restIn(texts, value, name)) ?? LEFT_OUT);
    budget -= sizeOf(part) - sizeOf(LEFT_OUT);
    parts.set(name, part);
  }
  const shown = firstWithin(fields, room - 2, ({ name, head }) => head + sizeOf(parts.get(name)));
  return shown.length > 0 || fields.length === 0
    ? Object.fromEntries(shown.map(({ name }) => [name, parts.get(name)]))
    : undefined;
}

/** The first ones that have room together. */
function firstWithin<One>(all: readonly One[], room: number, bytesOf: (one: One) => number): readonly One[] {
  let budget = room;
  return all.filter((one) => (budget -= bytesOf(one)) >= 0);
}

/** Fields that share the room, however long they are, and what a further field takes at least. */
const [FIELDS_SHARING, FIELD_LENGTH] = [64, 4];
/** In place of a field whose beginning has no room. Its name is shown all the same. */
const LEFT_OUT = "…";

/** A text whose JSON fits: both ends of a longer one, or its beginning if there is too little room for both. */
function fitText(text: string, room: number, rest: TextRest | undefined): string {
  if (!rest && sizeOf(text) <= room) return text;
  const ends = endsWithin(text, room, rest);
  if (ends) return `${ends.first}${betweenText(ends.between)}${ends.last}`;
  for (let length = room; ; length = Math.floor(length / 2)) {
    const beginning = cut(text, length);
    if (sizeOf(beginning) <= room) return beginning;
  }
}

/** Room in which both ends of a text are more than a few words, in bytes of JSON. */
const ROOM_FOR_ENDS = 200;
/** Bytes of what stands around and between the ends: names, quotes, a number. */
const BETWEEN_BYTES = 60;

/** Both ends of a text that is longer than the room, as JSON; undefined if there is too little room. */
function endsWithin(text: string, room: number, rest: TextRest | undefined): Ends | undefined {
  const long = rest ? { first: text, ...rest } : text;
  const allowed = room - BETWEEN_BYTES;
  let bytes = room < ROOM_FOR_ENDS ? 0 : allowed;
  while (bytes > 0) {
    const ends = endsOf(long, bytes);
    const size = sizeOf(ends.first) + sizeOf(ends.last);
    if (ends.between <= 0) return undefined;
    if (size <= allowed) return ends;
    // Escaped characters take more room than their bytes.
    bytes = Math.min(bytes - 1, Math.floor((bytes * allowed) / size));
  }
  return undefined;
}

/** UTF-8 bytes of a value's JSON, or undefined if more than `max`. Stops reading the value about there. */
function sizeWithin(value: unknown, max: number): number | undefined {
  if (weigh(value, max) > max) return undefined;
  const size = sizeOf(value);
  return size <= max ? size : undefined;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

function cleanSize(stub: Stub): number {
  return Buffer.byteLength(cleanText(JSON.stringify(stub)));
}
