import { types } from "node:util";
import type { SlicedWork } from "../slice-scheduler.ts";
import { isNumbers, isUnusual, iteratorRoom, jsonForm, stringifyUnusual } from "./json-form.ts";
import { JsonText } from "./json-text.ts";
import { measure } from "./json-scanner.ts";
import { hasJson, newScale, type Scale, weighOn } from "./weigh.ts";

/** Maximum weight of a value that is written at once, in bytes; also the characters of a text. Larger values are written in parts of this size. */
export const PART_BYTES = 64 * 1024;

/** The text that is being made of a value. */
export class Making {
  /** Values in the parts so far, or an upper bound. */
  values = 0;
  /** The objects that hold what is being made. */
  readonly within = new Set<object>();
  readonly allowedBytes: number;
  readonly allowedValues: number;

  constructor(allowedBytes = Infinity, allowedValues = Infinity) {
    this.allowedBytes = allowedBytes;
    this.allowedValues = allowedValues;
  }
}

/**
 * The text that `JSON.stringify` makes of a value, with that of a `JsonText` in it. Long texts, lists and the records that hold
 * them are written in slices.
 */
export function* jsonInParts(value: unknown): SlicedWork<string> {
  return (yield* jsonParts(value)).join("");
}

/** Like `jsonInParts`, with the parts that the text has. */
export function* jsonParts(value: unknown): SlicedWork<readonly string[]> {
  const parts: string[] = [];
  for (const part of partsOf(value, "", new Making())) {
    if (typeof part === "string") parts.push(part);
    yield;
  }
  return parts;
}

/**
 * The parts of such a text. One difference: a row's own `toJSON` may be passed another index. A yielded number is a lower bound
 * of the bytes that follow, so that the reader can stop before they are made.
 */
export function* partsOf(returned: unknown, name: string, making: Making): Generator<string | number> {
  if (returned instanceof JsonText) {
    making.values += returned.values;
    return yield returned.text;
  }
  const { within, allowedBytes } = making;
  const jsonValue = hasJson(returned) ? returned.toJSON(name) : returned;
  const json = types.isBoxedPrimitive(jsonValue) ? jsonValue.valueOf() : jsonValue;
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
  const scale = newScale(PART_BYTES);
  if (weighOn(scale, value) <= PART_BYTES || typeof value !== "object" || value === null) {
    const { text, values } = writtenText(value, scale, allowedBytes);
    making.values += values;
    return yield text;
  }
  making.values += 1;
  if (isRecord) within.add(json);
  yield* containerInParts(value, isList, making);
  if (isRecord) within.delete(json);
}

/** The rows of a list, or the fields of a record: small ones become text together, large ones in parts of their own. */
function* containerInParts(container: object, isList: boolean, making: Making): Generator<string | number> {
  const names = isList ? undefined : Object.keys(container);
  const values = container as ArrayLike<unknown> & Readonly<Record<string, unknown>>;
  const newPart = () => ({ ...newScale(PART_BYTES), values: 1 });
  let [scale, weight, before] = [newPart(), 0, ""];
  let entries: unknown[] = [];
  const collected = (): string => {
    const held = isList ? entries : Object.fromEntries(entries as [string, unknown][]);
    const { text, values } = writtenText(held, scale, making.allowedBytes);
    [scale, weight, entries] = [newPart(), 0, []];
    if (text.length === 2) return "";
    making.values += values - 1;
    const written = before + text.slice(1, -1);
    before = ",";
    return written;
  };
  yield isList ? "[" : "{";
  const { length } = names ?? values;
  for (let at = 0; at < length; at += 1) {
    const name = names?.[at];
    const one = name === undefined ? values[at] : values[name];
    if (name !== undefined && one === undefined) continue;
    const seen = scale.values;
    const weighed = weighOn(scale, one);
    if (weighed <= PART_BYTES) {
      entries.push(name === undefined ? one : [name, one]);
      weight += weighed + (name?.length ?? 0);
      if (weight > PART_BYTES) yield collected();
      continue;
    }
    scale.values = seen;
    yield collected();
    yield name === undefined ? before : `${before}${JSON.stringify(name)}:`;
    before = ",";
    yield* partsOf(one, name ?? String(at), making);
  }
  yield collected();
  yield isList ? "]" : "}";
}

function* stringInParts(text: string): Generator<string, void> {
  yield '"';
  for (let at = 0; at < text.length;) {
    const end = at + PART_BYTES;
    // Two halves of a pair would be written as escapes.
    const isPair = (text.codePointAt(end - 1) ?? 0) > 0xffff;
    const part = text.slice(at, isPair ? end + 1 : end);
    yield JSON.stringify(part).slice(1, -1);
    at += part.length;
  }
  yield '"';
}

/** JSON text of a value that was weighed on this scale, and its values, or an upper bound. The general way takes several times as long. */
export function writtenText(value: unknown, { unusual, values }: Scale, allowedBytes: number) {
  if (!unusual) return { text: JSON.stringify(value) ?? "null", values };
  const text = stringifyUnusual(value, allowedBytes) ?? "null";
  return { text, values: measure(text).values };
}
