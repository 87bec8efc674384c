import { isFields } from "../fields.ts";
import type { SlicedWork } from "../slice-scheduler.ts";
import { JsonText } from "./json-text.ts";

/** Elements of a list that become text at once. */
const ROWS = 128;
/** Depth down to which the fields of a record become text one after the other. */
const DEPTH = 3;

/** Characters of a text, or of elements of a list, that are written at once. */
const CHARACTERS = 64 * 1024;

/**
 * The text that `JSON.stringify` makes of plain data, with the text of a `JsonText` that is a field. Long texts, lists and the
 * records that hold them are written in slices.
 */
export function* jsonInParts(value: unknown): SlicedWork<string> {
  return (yield* jsonParts(value)).join("");
}

/** Like `jsonInParts`, with the parts that the text has. */
export function* jsonParts(value: unknown): SlicedWork<readonly string[]> {
  const parts: string[] = [];
  yield* write(value, 0, parts);
  return parts;
}

function* write(value: unknown, depth: number, parts: string[]): SlicedWork<void> {
  if (typeof value === "string" && value.length > CHARACTERS) {
    for (const part of stringInParts(value)) {
      parts.push(part);
      yield;
    }
    return;
  }
  if (Array.isArray(value)) return yield* writeRows(value, depth, parts);
  const isText = value instanceof JsonText;
  if (isFields(value) && !isText && (depth < DEPTH || lengthOf(value) > CHARACTERS))
    return yield* writeFields(value, depth, parts);
  parts.push(isText ? value.text : JSON.stringify(value));
  yield;
}

export function* stringInParts(text: string): Generator<string, void> {
  yield '"';
  for (let at = 0; at < text.length;) {
    const end = at + CHARACTERS;
    // Two halves of a pair would be written as escapes.
    const isPair = (text.codePointAt(end - 1) ?? 0) > 0xffff;
    const part = text.slice(at, isPair ? end + 1 : end);
    yield JSON.stringify(part).slice(1, -1);
    at += part.length;
  }
  yield '"';
}

function* writeRows(rows: readonly unknown[], depth: number, parts: string[]): SlicedWork<void> {
  parts.push("[");
  for (let at = 0, end = 0; at < rows.length; at = end) {
    if (at > 0) parts.push(",");
    let length = lengthOf(rows[end++]);
    if (length > CHARACTERS) yield* write(rows[at], depth + 1, parts);
    else {
      while (end < rows.length && end - at < ROWS && (length += lengthOf(rows[end])) <= CHARACTERS) end += 1;
      parts.push(JSON.stringify(rows.slice(at, end)).slice(1, -1));
      yield;
    }
  }
  parts.push("]");
}

/** Characters of a text, or of the texts that a record has as fields. A JSON text is written alone. */
function lengthOf(value: unknown, isField = false): number {
  if (typeof value === "string") return value.length;
  if (value instanceof JsonText) return Number.POSITIVE_INFINITY;
  if (isField || !isFields(value)) return 0;
  return Object.values(value).reduce<number>((sum, field) => sum + lengthOf(field, true), 0);
}

function* writeFields(fields: object, depth: number, parts: string[]): SlicedWork<void> {
  let before = "{";
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    if (value === undefined) continue;
    parts.push(before, JSON.stringify(name), ":");
    yield* write(value, depth + 1, parts);
    before = ",";
  }
  parts.push(before === "{" ? "{}" : "}");
}
