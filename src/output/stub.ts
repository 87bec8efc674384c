import { cleanText } from "./clean-text.ts";

/** What stands for a value that is too large: still JSON, and true. */
export interface Stub {
  /** Marks a stub, and says what to do. */
  readonly too_large: string;
  /** UTF-8 bytes of the whole value's JSON. */
  readonly bytes: number;
  /** Type of the value in TypeScript's words, read off its first rows. */
  readonly shape: string;
  /** Rows of an array, or fields of an object. */
  readonly count?: number;
  /** The first rows, fields and characters, as many as fit. */
  readonly first?: unknown;
}

/** Rows that a shape is read off. */
const ROWS_READ = 20;
const FIELDS_SHOWN = 24;
const DEPTH_SHOWN = 4;
const SHAPE_LENGTHS = [2000, 400, 100, 20];

/** What is known of a value that is too large. */
export interface LargeValue {
  /** Its beginning at least. */
  readonly value: unknown;
  /** UTF-8 bytes of the whole. */
  readonly bytes: number;
  /** How many entries lists and records have that stand in `value` with their first ones only. */
  readonly counts: ReadonlyMap<object, number>;
}

/** A stub whose JSON, cleaned, has at most `allowedBytes`; or the shortest one there is, of about 200, where that is less. */
export function stubOf(large: LargeValue, allowedBytes: number, advice: string): Stub {
  const { value, bytes } = large;
  const known = { too_large: advice, bytes };
  const count = typeof value === "object" && value !== null ? { count: countOf(value, large) } : {};
  const shape = cleanText(shapeOf(value, large, 0));
  for (const length of SHAPE_LENGTHS) {
    const bare: Stub = { ...known, shape: cut(shape, length), ...count };
    if (cleanSize(bare) > allowedBytes) continue;
    return withFirst(bare, value, allowedBytes);
  }
  return { ...known, shape: Array.isArray(value) ? "array" : typeof value, ...count };
}

/** Adds as much of the value's beginning as fits. What is written out when it is cleaned takes more room than it had. */
function withFirst(bare: Stub, value: unknown, allowedBytes: number): Stub {
  for (let room = allowedBytes - cleanSize(bare) - ',"first":'.length; room > 0; room = Math.floor(room / 2)) {
    const first = sample(value, room);
    if (first === undefined) return bare;
    const stub = { ...bare, first };
    if (cleanSize(stub) <= allowedBytes) return stub;
  }
  return bare;
}

function countOf(container: object, { counts }: LargeValue): number {
  return counts.get(container) ?? Object.keys(container).length;
}

/** The beginning of a value, of at most `room` bytes of JSON; undefined where nothing of it fits. */
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

/** How many rows a list within the value has stands behind its type, unless it is within a row itself, where each may have another number. */
function shapeOf(value: unknown, large: LargeValue, depth: number, inRow = false): string {
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const rows = merged(value.slice(0, ROWS_READ).map((row) => shapeOf(row, large, depth + 1, true)));
    return depth === 0 || inRow ? `${rows}[]` : `${rows}[] /* ${countOf(value, large)} */`;
  }
  if (typeof value !== "object") return typeof value;
  if (depth >= DEPTH_SHOWN) return "object";
  const names = Object.keys(value);
  const fields = names
    .slice(0, FIELDS_SHOWN)
    .map((name) => `${cut(name, 40)}: ${shapeOf((value as Record<string, unknown>)[name], large, depth + 1, inRow)}`);
  const untold = countOf(value, large) - Math.min(names.length, FIELDS_SHOWN);
  const more = untold > 0 ? [`… ${untold} more`] : [];
  return `{ ${[...fields, ...more].join(", ")} }`;
}

function merged(shapes: readonly string[]): string {
  const different = [...new Set(shapes)];
  if (different.length <= 1) return different[0] ?? "unknown";
  return different.length <= 3 ? `(${different.join(" | ")})` : `(${different.slice(0, 3).join(" | ")} | …)`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}

/** The longest beginning of a text whose JSON fits. */
function fitText(text: string, room: number): string {
  for (let length = room; ; length = Math.floor(length / 2)) {
    const beginning = cut(text, length);
    if (sizeOf(beginning) <= room) return beginning;
  }
}

/** UTF-8 bytes of a value's JSON, or undefined where it has more than `most`: no more than that is read of it. */
function sizeWithin(value: unknown, most: number): number | undefined {
  return leastSizeOf(value, most) > most ? undefined : within(sizeOf(value), most);
}

function within(size: number, most: number): number | undefined {
  return size <= most ? size : undefined;
}

/** Bytes that a value's JSON has at least, counted until there are more than `most`. */
function leastSizeOf(root: unknown, most: number): number {
  const open: unknown[] = [root];
  let size = 0;
  while (open.length > 0 && size <= most) {
    const value = open.pop();
    if (typeof value === "string") size += value.length + 2;
    else if (typeof value !== "object" || value === null) size += 1;
    else {
      size += 2;
      for (const name in value) {
        if (Object.hasOwn(value, name)) {
          size += Array.isArray(value) ? 1 : name.length + 4;
          open.push((value as Record<string, unknown>)[name]);
        }
        if (size > most) break;
      }
    }
  }
  return size;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

function cleanSize(stub: Stub): number {
  return Buffer.byteLength(cleanText(JSON.stringify(stub)));
}
