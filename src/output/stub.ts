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

/** A stub of a value, of at most `allowedBytes` of JSON; of about 200 where that is less. */
export function stubOf(value: unknown, bytes: number, allowedBytes: number, advice: string): Stub {
  const shape = shapeOf(value, 0);
  let bare: Stub = { too_large: advice, bytes, shape: typeof value };
  for (const length of SHAPE_LENGTHS) {
    bare = { too_large: advice, bytes, shape: cut(shape, length), ...countOf(value) };
    const room = allowedBytes - sizeOf(bare) - 16;
    if (room < 0) continue;
    const first = sample(value, room);
    return first === undefined ? bare : { ...bare, first };
  }
  return bare;
}

function countOf(value: unknown): { readonly count?: number } {
  if (Array.isArray(value)) return { count: value.length };
  return typeof value === "object" && value !== null ? { count: Object.keys(value).length } : {};
}

/** The beginning of a value, of at most `room` bytes of JSON; undefined where nothing of it fits. */
function sample(value: unknown, room: number): unknown {
  if (typeof value === "string") return room < 16 ? undefined : fitText(value, room);
  if (Array.isArray(value)) return sampleRows(value, room);
  if (typeof value === "object" && value !== null) return sampleFields(value, room);
  return sizeOf(value) <= room ? value : undefined;
}

function sampleRows(rows: readonly unknown[], room: number): unknown[] | undefined {
  const taken: unknown[] = [];
  let left = room - 2;
  for (const row of rows) {
    left -= sizeOf(row) + 1;
    if (left < 0) break;
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
    const part = sizeOf(field) <= share ? field : sample(field, share);
    if (part === undefined) return;
    taken.push([name, part]);
    left -= sizeOf(name) + sizeOf(part) + 2;
  });
  return taken.length > 0 ? Object.fromEntries(taken) : undefined;
}

function shapeOf(value: unknown, depth: number): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `${merged(value.slice(0, ROWS_READ).map((row) => shapeOf(row, depth + 1)))}[]`;
  if (typeof value !== "object") return typeof value;
  if (depth >= DEPTH_SHOWN) return "object";
  const names = Object.keys(value);
  const fields = names
    .slice(0, FIELDS_SHOWN)
    .map((name) => `${cut(name, 40)}: ${shapeOf((value as Record<string, unknown>)[name], depth + 1)}`);
  return `{ ${[...fields, ...(names.length > FIELDS_SHOWN ? [`… ${names.length - FIELDS_SHOWN} more`] : [])].join(", ")} }`;
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

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
