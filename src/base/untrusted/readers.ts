import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { byName, isFields } from "../values/fields.ts";
import { checkJson, jsonDigest } from "../values/json/check-json.ts";
import { exactText } from "../values/json/exact-json.ts";
import { entryTexts, fieldTexts } from "../values/json/json-fields.ts";
import { JsonScanner, newCount, OPEN_LIST } from "../values/json/json-scanner.ts";
import { type JsonLook, parsedJson } from "../values/json/json-text.ts";
import { lostIn, type Paths } from "../values/json/lost-data.ts";
import { PLAIN_DEPTH } from "../values/json/plain-data.ts";
import { wholly } from "../values/slice-scheduler.ts";

/*
 * What reads untrusted texts: at once if they are short, and on the thread if they are long. Each takes time that is linear
 * in the text.
 */

/** What parsing costs beside the length of the text. */
export interface JsonBounds {
  readonly depth: number;
  /** Values in all, the text itself included. */
  readonly values: number;
}

/** Why a text is not to be parsed. */
export type JsonFault = keyof JsonBounds | "syntax" | "time";

/** Characters that are measured between two looks at the bounds. */
const STEP_LENGTH = 64 * 1024;

/** The first bound that a text exceeds, which may be JSON. */
function exceeded(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
  const scanner = new JsonScanner(text);
  const count = newCount();
  while (scanner.at < text.length) {
    scanner.pass(count, scanner.at + STEP_LENGTH);
    if (count.depth > bounds.depth) return "depth";
    if (count.values > bounds.values) return "values";
  }
  return undefined;
}

/** What a text of plain JSON has; undefined for any other text. */
function look(text: string): JsonLook | undefined {
  if (checkJson(text) !== undefined) return undefined;
  const count = newCount();
  new JsonScanner(text).pass(count, text.length, 1);
  const first = text.charCodeAt(text.search(/[^ \t\n\r]/));
  const isEmpty = count.values === 2 && /^\s*\[\s*\]/.test(text);
  const type = first === OPEN_LIST ? `array of ${isEmpty ? 0 : count.rows + 1}` : TYPES.get(first);
  return { values: count.values, type: type ?? "number" };
}

/** Kinds of values by the character that begins them; any other is a number's. */
const TYPES: ReadonlyMap<number, string> = new Map(
  Object.entries({ "{": "object", '"': "string", t: "boolean", f: "boolean", n: "null" }).map(([character, type]) => [
    character.charCodeAt(0),
    type,
  ]),
);

const COMPARED: JsonBounds = { depth: PLAIN_DEPTH, values: 65_536 };

/** Whether the texts of each pair are JSON of the same value. */
function areEqual(pairs: readonly (readonly [string, string])[]): boolean {
  return pairs.every((pair) => {
    if (pair.some((text) => exceeded(text, COMPARED) !== undefined)) return false;
    const [one, other] = pair.map((text) => parsedJson(text, true));
    return one !== undefined && isDeepStrictEqual(one, other);
  });
}

/** A text with whole numbers as `integerOf` has them, and how it looks if it has more than `parsed` values. */
interface Exact {
  readonly text: string;
  readonly look?: JsonLook;
}

function exact(text: string, bounds: JsonBounds, parsed: number): Exact | JsonFault {
  const fault = exceeded(text, bounds);
  if (fault !== undefined) return fault;
  const read = { text: exactText(text) };
  if (text.length <= parsed || exceeded(text, { ...bounds, values: parsed }) === undefined) return read;
  const seen = look(read.text);
  return seen ? { ...read, look: seen } : "syntax";
}

/** Plain JSON with whole numbers as `integerOf` has them; undefined for any other text, and for one with a name twice in an object. */
function plain(text: string): Required<Exact> | undefined {
  const read = exactText(text);
  const seen = look(read);
  return seen && lostIn(read, []) === undefined ? { text: read, look: seen } : undefined;
}

/** A field of a message that may have many values, by its path. */
export interface LargeField {
  readonly path: readonly string[];
  readonly values: number;
  /** Whether it is to be plain JSON. */
  readonly isPlain: boolean;
}

/** A message, which has `inPlace` where `field`, a number of the large ones, was cut out of it. */
interface Cut {
  readonly rest: string;
  readonly field?: number;
  readonly part?: Exact;
}

/** A message of at most `bounds.values` values, without the first of its large fields if it would have more with it. */
function cut(text: string, fields: readonly LargeField[], bounds: JsonBounds, inPlace: string): Cut | JsonFault {
  if (exceeded(text, bounds) === undefined) return { rest: exactText(text) };
  const most = Math.max(0, ...fields.map(({ values }) => values));
  const fault = exceeded(text, { ...bounds, values: bounds.values + most });
  if (fault !== undefined) return fault;
  for (const [field, { path, values, isPlain }] of fields.entries()) {
    const result = without(text, path, inPlace);
    if (result === undefined || exceeded(result.rest, bounds) !== undefined) continue;
    const part = exact(result.part, { ...bounds, values }, isPlain ? 0 : values);
    return typeof part === "string" ? part : { rest: exactText(result.rest), field, part };
  }
  return "values";
}

function without(
  text: string,
  [name = "", ...path]: readonly string[],
  inPlace: string,
): { readonly rest: string; readonly part: string } | undefined {
  const fields = wholly(fieldTexts(text.trim()));
  const field = fields?.get(name);
  if (fields === undefined || field === undefined) return undefined;
  const inner = path.length === 0 ? { rest: inPlace, part: field.trim() } : without(field, path, inPlace);
  if (inner === undefined) return undefined;
  const written = Array.from(fields, ([one, its]) => `${JSON.stringify(one)}:${one === name ? inner.rest : its}`);
  return { rest: `{${written.join(",")}}`, part: inner.part };
}

/** What texts of JSON have in common that say the same: the value, or the digits and the order of fields of one that is not compared. */
function valueDigest(json: string): string {
  const value = exceeded(json, COMPARED) === undefined ? parsedJson(json, true) : undefined;
  return value === undefined ? jsonDigest(json) : hash("sha256", JSON.stringify(value, inOrder));
}

function inOrder(_: string, value: unknown): unknown {
  return isFields(value) ? Object.fromEntries(Object.entries(value).toSorted(byName)) : value;
}

/** Whether each text of some blocks is the JSON of a structure, or of one of its fields, or they are that of a field's elements. */
function repeats(whole: string, blocks: readonly string[]): boolean {
  const [structure = "", ...blockTexts] = [whole, ...blocks].map(exactText);
  // A block is JSON, or the text of a string.
  const texts = blockTexts.map((json) => [json, JSON.stringify(json)].map(valueDigest));
  const fields = [...(wholly(fieldTexts(structure))?.values() ?? [])];
  const digests = new Set([structure, ...fields].map(valueDigest));
  if (texts.every((forms) => forms.some((form) => digests.has(form)))) return true;
  return fields.some((field) => {
    const entries = wholly(entryTexts(field.trim(), texts.length + 1)) ?? [];
    return entries.length === texts.length && entries.every((entry, at) => texts[at]?.includes(valueDigest(entry)));
  });
}

export const READERS = {
  plainEscapes: withPlainEscapes,
  exceeded,
  unsound: (text: string, bounds: JsonBounds, parts: Paths) => exceeded(text, bounds) ?? lostIn(text, parts),
  fault: checkJson,
  areEqual,
  exact,
  plain,
  cut,
  repeats,
};

export type Readers = typeof READERS;

const BACKSLASH = "\\";

/**
 * JSON in which characters that need no escape have none: `a\/b` and `a\u002fb` become `a/b`. Servers write either, and
 * secrets are looked for in this form. Takes time linear in the text.
 */
export function withPlainEscapes(json: string): string {
  if (!json.includes("\\/") && !json.includes("\\u00")) return json;
  const parts: string[] = [];
  let kept = 0;
  for (let at = json.indexOf(BACKSLASH); at >= 0; at = json.indexOf(BACKSLASH, at + 2)) {
    const kind = json.charAt(at + 1);
    const length = kind === "/" ? 2 : kind === "u" ? 6 : 0;
    if (length === 0) continue;
    const code = kind === "/" ? SLASH : codeOf(json.slice(at + 2, at + 6));
    if (!isPlain(code)) continue;
    parts.push(json.slice(kept, at), String.fromCharCode(code));
    kept = at + length;
    // The next escape may follow at once.
    at = kept - 2;
  }
  return parts.join("") + json.slice(kept);
}

const SLASH = 0x2f;

const codeOf = (digits: string): number => (/^00[0-9a-fA-F]{2}$/.test(digits) ? Number.parseInt(digits, 16) : -1);

/** Characters that stand in a string as they are: printable ones of Latin 1, but no quotation mark and no backslash. */
function isPlain(code: number): boolean {
  return (code >= 0x20 && code <= 0x7e && code !== 0x22 && code !== 0x5c) || (code >= 0xa0 && code <= 0xff);
}
