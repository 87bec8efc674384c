import { parsedJson } from "./json-text.ts";
import type { SlicedWork } from "../slice-scheduler.ts";
import { COLON, COMMA, END, isOpening, JsonScanner, MORE, newCount, OPEN_LIST, OPEN_RECORD } from "./json-scanner.ts";

/** Characters between two checks whether the thread must be yielded. */
const STEP_LENGTH = 64 * 1024;
/** Maximum fields of a record. */
const MOST_FIELDS = 1000;

/**
 * The JSON texts of the fields of a record, by name. They are found without parsing: a value may be as large as the result
 * of a call, and parsing cannot be interrupted. Whether these texts are JSON is not checked. Undefined for a text that is
 * no record, or has more than a thousand fields.
 */
export function* fieldTexts(text: string): SlicedWork<ReadonlyMap<string, string> | undefined> {
  const fields = new Map<string, string>();
  const scanner = new JsonScanner(text);
  if (scanner.next(1) !== OPEN_RECORD) return undefined;
  let from = 1;
  let name: string | undefined;
  for (;;) {
    const mark = yield* outerMark(scanner);
    if (mark === END) return undefined;
    if (mark === COLON) {
      name = nameIn(text.slice(from, scanner.start));
      if (name === undefined || fields.size === MOST_FIELDS) return undefined;
      from = scanner.end;
    } else if (mark === COMMA || scanner.level === 0) {
      if (name !== undefined) fields.set(name, text.slice(from, scanner.start));
      else if (mark === COMMA || fields.size > 0 || !scanner.isBlankBetween) return undefined;
      if (scanner.level === 0) return scanner.end === text.length ? fields : undefined;
      name = undefined;
      from = scanner.end;
    }
  }
}

/** Like `fieldTexts`, for the first entries of a list, at most `most`. Undefined for no list, or one without an end. */
export function* entryTexts(text: string, most: number): SlicedWork<readonly string[] | undefined> {
  const entries: string[] = [];
  const scanner = new JsonScanner(text);
  if (scanner.next(1) !== OPEN_LIST) return undefined;
  let from = 1;
  while (entries.length < most) {
    const mark = yield* outerMark(scanner);
    if (mark === END) return undefined;
    if (mark !== COMMA && scanner.level > 0) continue;
    const entry = text.slice(from, scanner.start);
    if (scanner.level === 0 && entries.length === 0 && entry.trim() === "") return entries;
    entries.push(entry);
    if (scanner.level === 0) return entries;
    from = scanner.end;
  }
  return entries;
}

/** The next mark of the outermost container itself, or `END`. What is in its values is passed. */
function* outerMark(scanner: JsonScanner): SlicedWork<number> {
  for (;;) {
    yield;
    const mark = scanner.next(scanner.at + STEP_LENGTH);
    if (isOpening(mark)) yield* passContainer(scanner);
    else if (mark !== MORE) return mark;
  }
}

/** Passes what is in the container that has just been opened. */
function* passContainer(scanner: JsonScanner): SlicedWork<void> {
  const outer = scanner.level;
  for (const count = newCount(); scanner.level >= outer && !scanner.isAtEnd;) {
    yield;
    scanner.pass(count, scanner.at + STEP_LENGTH, outer);
  }
}

function nameIn(text: string): string | undefined {
  const name = parsedJson(text);
  return typeof name === "string" ? name : undefined;
}
