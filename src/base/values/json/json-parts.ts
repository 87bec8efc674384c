import { isFields } from "../fields.ts";
import type { SlicedWork } from "../slice-scheduler.ts";

/** Elements of a list that become text at once. */
const ROWS = 128;
/** Depth down to which the fields of a record become text one after the other. */
const DEPTH = 3;

/** Characters of a text that are written at once. */
const CHARACTERS = 64 * 1024;

/** The text that `JSON.stringify` makes of plain data. Long texts, lists and the records that hold them are written in slices. */
export function* jsonInParts(value: unknown): SlicedWork<string> {
  const parts: string[] = [];
  yield* write(value, 0, parts);
  return parts.join("");
}

function* write(value: unknown, depth: number, parts: string[]): SlicedWork<void> {
  if (typeof value === "string" && value.length > CHARACTERS) {
    for (const part of stringInParts(value)) {
      parts.push(part);
      yield;
    }
    return;
  }
  if (Array.isArray(value) && value.length > ROWS) return yield* writeRows(value, parts);
  if (isFields(value) && depth < DEPTH) return yield* writeFields(value, depth, parts);
  parts.push(JSON.stringify(value));
  yield;
}

/** The JSON of a string, in parts. */
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

function* writeRows(rows: readonly unknown[], parts: string[]): SlicedWork<void> {
  for (let at = 0; at < rows.length; at += ROWS) {
    parts.push(at === 0 ? "[" : ",", JSON.stringify(rows.slice(at, at + ROWS)).slice(1, -1));
    yield;
  }
  parts.push("]");
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
