import { isNumbers, isUnusual } from "./json-form.ts";
import { JsonText } from "./json-text.ts";

/** Maximum depth that is weighed. Deeper values weigh nothing; the serialiser handles them. */
export const MAX_DEPTH = 1000;
/** Assumed weight of a value with a `toJSON`; its real weight is unknown until that is called. */
const TO_JSON_BYTES = 4096;
const DATE_BYTES = 26;

/** The `toJSON` of a Buffer is not asked: it is a typed array like others. */
export function hasJson(value: unknown): value is { toJSON(name: string): unknown } {
  if (typeof value !== "object" || value === null || isNumbers(value)) return false;
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

/** A lower bound of the bytes of a value's JSON, but a `toJSON` counts as some. Stops beyond `enough`. A `JsonText` outweighs all. */
export function weigh(value: unknown, enough: number): number {
  return weighOn(newScale(enough), value);
}

/** How a value is weighed, and what was seen of it. */
export interface Scale {
  readonly enough: number;
  /** Whether a value was seen of which plain `JSON.stringify` would lose something, or one that was not walked. */
  unusual: boolean;
  /** Values that were seen: all, if none was unusual. */
  values: number;
}

export const newScale = (enough: number): Scale => ({ enough, unusual: false, values: 0 });

/** Like `weigh`, on a scale that also notes whether the value is unusual. */
export function weighOn(scale: Scale, value: unknown): number {
  return add(0, value, scale, 0);
}

function add(bytes: number, value: unknown, scale: Scale, depth: number): number {
  scale.values += 1;
  if (typeof value === "string") return bytes + value.length + 2;
  if (typeof value !== "object" || value === null) {
    if (!isJsonScalar(value)) scale.unusual = true;
    return bytes + 1;
  }
  // Nearly every object is plain, and each of the questions below takes as long as a field.
  if (depth < MAX_DEPTH && isPlain(value) && !hasJson(value)) return addPlainFields(bytes, value, scale, depth);
  if (isNumbers(value)) {
    scale.unusual = true;
    return bytes + value.length * 2;
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) scale.unusual = true;
    return bytes + DATE_BYTES;
  }
  if (value instanceof JsonText) return Infinity;
  if (hasJson(value) || depth === MAX_DEPTH) {
    // The value that `toJSON` gives is not known yet.
    scale.unusual = true;
    return depth === MAX_DEPTH ? bytes : bytes + TO_JSON_BYTES;
  }
  if (Array.isArray(value)) {
    let sum = bytes + 2 + Math.max(0, value.length - 1);
    for (let index = 0; index < value.length && sum <= scale.enough; index += 1)
      sum = add(sum, value[index], scale, depth + 1);
    return sum;
  }
  if (isUnusual(value)) {
    scale.unusual = true;
    if (value instanceof Map || value instanceof Set) return addEntries(bytes, value, scale, depth);
  }
  return addFields(bytes, value, scale, depth);
}

/** Whether JSON keeps a value that is no object as it is. Undefined is left out on purpose. */
function isJsonScalar(value: unknown): boolean {
  const type = typeof value;
  return type === "number" ? Number.isFinite(value) : type !== "function" && type !== "symbol" && type !== "bigint";
}

function isPlain(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && !Array.isArray(value);
}

/** Like `addFields`, in a quarter of the time: for a plain object V8 makes no list of the names. */
function addPlainFields(bytes: number, value: object, scale: Scale, depth: number): number {
  let sum = bytes + 1;
  for (const key in value) {
    if (!Object.prototype.hasOwnProperty.call(value, key)) continue;
    const field = (value as Record<string, unknown>)[key];
    if (typeof field === "string") {
      scale.values += 1;
      sum += key.length + field.length + 6;
    } else sum = addField(sum, key, field, scale, depth);
    if (sum > scale.enough) break;
  }
  return Math.max(sum, bytes + 2);
}

function addFields(bytes: number, value: object, scale: Scale, depth: number): number {
  // Each field has a brace or a comma before its name. JSON omits fields that are undefined.
  let sum = bytes + 1;
  for (const key of Object.keys(value)) {
    sum = addField(sum, key, (value as Record<string, unknown>)[key], scale, depth);
    if (sum > scale.enough) break;
  }
  return Math.max(sum, bytes + 2);
}

function addField(sum: number, key: string, field: unknown, scale: Scale, depth: number): number {
  if (typeof field === "function" || typeof field === "symbol") scale.unusual = true;
  if (field === undefined || typeof field === "function" || typeof field === "symbol") return sum;
  return add(sum + key.length + 4, field, scale, depth + 1);
}

function addEntries(bytes: number, entries: Map<unknown, unknown> | Set<unknown>, scale: Scale, depth: number): number {
  let sum = bytes + 2;
  for (const [key, value] of entries.entries()) {
    sum = add(entries instanceof Map ? sum + String(key).length + 3 : sum, value, scale, depth + 1);
    if (sum > scale.enough) break;
  }
  return sum;
}

/** What a foreign value may hold at most, before anything reads it by recursion. */
interface SizeBounds {
  readonly depth: number;
  /** Values within it. A shared value counts in every place. */
  readonly values: number;
  /** UTF-16 code units of all texts and names within it; they are not counted by default. */
  readonly characters?: number;
}

/** Why a foreign value is too large, as the rest of a sentence about it; undefined if it is not. Works without recursion. */
export function sizeFault(root: unknown, bounds: SizeBounds): string | undefined {
  const { depth: maxDepth, values: maxValues, characters: maxCharacters = Infinity } = bounds;
  const open: unknown[] = [root];
  const depths: number[] = [1];
  let values = 0;
  let characters = 0;
  while (open.length > 0) {
    const part = open.pop();
    const depth = depths.pop() ?? 0;
    values += 1;
    if (typeof part === "string") characters += part.length;
    if (characters > maxCharacters) return `has texts of more than ${maxCharacters} characters together`;
    if (typeof part !== "object" || part === null || ArrayBuffer.isView(part)) continue;
    if (depth > maxDepth) return `is nested more than ${maxDepth} levels deep, or holds itself`;
    const children: readonly unknown[] = Array.isArray(part) ? part : Object.values(part);
    if (values + open.length + children.length > maxValues) return `holds more than ${maxValues} values`;
    if (!Array.isArray(part)) for (const name of Object.keys(part)) characters += name.length;
    for (const child of children) {
      open.push(child);
      depths.push(depth + 1);
    }
  }
  return undefined;
}
