import { weigh } from "../values/json/weigh.ts";
import { entryCount, cut, FIELDS_SHOWN, shapeOf } from "../values/value-shape.ts";
import { cleanText } from "./clean-text.ts";

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
  /** As much of the value's beginning as fits: rows, fields or characters. */
  readonly first?: unknown;
}

const SHAPE_LENGTHS = [2000, 400, 100, 20];

/** A value that is too large, possibly truncated. */
export interface LargeValue {
  /** The value, or its beginning. */
  readonly value: unknown;
  /** UTF-8 bytes of the whole value's JSON. */
  readonly bytes: number;
  /** Full number of entries of the containers that are truncated in `value`. */
  readonly counts: ReadonlyMap<object, number>;
}

/** A stub whose cleaned JSON has at most `allowedBytes`. If no stub is so short, the shortest, of about 200 bytes. */
export function stubOf(large: LargeValue, allowedBytes: number, advice: string, artifact?: string): Stub {
  const { value, bytes } = large;
  const known = { too_large: advice, ...(artifact === undefined ? {} : { artifact }), bytes };
  const count = typeof value === "object" && value !== null ? { count: entryCount(value, large.counts) } : {};
  const shape = cleanText(shapeOf(value, large.counts));
  for (const length of SHAPE_LENGTHS) {
    const bare: Stub = { ...known, shape: cut(shape, length), ...count };
    if (cleanSize(bare) <= allowedBytes) return withFirst(bare, value, allowedBytes);
  }
  return { ...known, shape: Array.isArray(value) ? "array" : typeof value, ...count };
}

/** Adds as much of the value's beginning as fits. Retries with less room, because cleaning makes text longer. */
function withFirst(bare: Stub, value: unknown, allowedBytes: number): Stub {
  for (let room = allowedBytes - cleanSize(bare) - ',"first":'.length; room > 0; room = Math.floor(room / 2)) {
    const first = sample(value, room);
    if (first === undefined) return bare;
    const stub = { ...bare, first };
    if (cleanSize(stub) <= allowedBytes) return stub;
  }
  return bare;
}

/** The beginning of a value, of at most `room` bytes of JSON; undefined if nothing fits. */
function sample(value: unknown, room: number): unknown {
  if (room < 2) return undefined;
  if (typeof value === "string") return room < 16 ? undefined : fitText(value, room);
  if (Array.isArray(value)) return sampleRows(value, room);
  if (typeof value === "object" && value !== null) return sampleFields(value, room);
  return sizeWithin(value, room) === undefined ? undefined : value;
}

function sampleRows(rows: readonly unknown[], room: number): unknown[] | undefined {
  const taken: unknown[] = [];
  let left = room - 2;
  for (const row of rows) {
    const size = sizeWithin(row, left - 1);
    if (size === undefined) break;
    left -= size + 1;
    taken.push(row);
  }
  if (taken.length > 0 || rows.length === 0) return taken;
  const part = sample(rows[0], room - 3);
  return part === undefined ? undefined : [part];
}

function sampleFields(value: object, room: number): object | undefined {
  const fields = Object.entries(value).slice(0, FIELDS_SHOWN);
  const taken: [string, unknown][] = [];
  let left = room - 2;
  fields.forEach(([name, field], index) => {
    const share = Math.floor(left / (fields.length - index)) - sizeOf(name) - 2;
    const part = sizeWithin(field, share) === undefined ? sample(field, share) : field;
    if (part === undefined) return;
    taken.push([name, part]);
    left -= sizeOf(name) + sizeOf(part) + 2;
  });
  return taken.length > 0 || fields.length === 0 ? Object.fromEntries(taken) : undefined;
}

/** The longest beginning of a text whose JSON fits. */
function fitText(text: string, room: number): string {
  for (let length = room; ; length = Math.floor(length / 2)) {
    const beginning = cut(text, length);
    if (sizeOf(beginning) <= room) return beginning;
  }
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
