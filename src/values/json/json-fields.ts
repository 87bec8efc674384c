import type { SlicedWork } from "../slice-scheduler.ts";
import { COLON, COMMA, END, isOpening, JsonScanner, MORE, newCount, OPEN_RECORD } from "./json-scanner.ts";

/** Characters between two checks whether the thread must be yielded. */
const STEP_LENGTH = 64 * 1024;
/** Maximum fields of a record. */
const MOST_FIELDS = 1000;

/**
 * The JSON texts of the fields of a record, by name. They are found without being parsed: a value may be as large as the
 * result of a call, and parsing cannot be interrupted. Undefined for a text that is no record, or has more than a thousand
 * fields; whether the texts of the fields are JSON is not checked.
 */
export function* fieldTexts(text: string): SlicedWork<ReadonlyMap<string, string> | undefined> {
  const fields = new Map<string, string>();
  const scanner = new JsonScanner(text);
  if (scanner.next(1) !== OPEN_RECORD) return undefined;
  let from = 1;
  let name: string | undefined;
  for (let stop = STEP_LENGTH; ;) {
    if (scanner.at >= stop) {
      stop = scanner.at + STEP_LENGTH;
      yield;
    }
    const mark = scanner.next(stop);
    if (mark === END) return undefined;
    if (mark === MORE) continue;
    if (isOpening(mark)) yield* passContainer(scanner);
    else if (mark === COLON) {
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

/** Passes what is in the container that has just been opened. */
function* passContainer(scanner: JsonScanner): SlicedWork<void> {
  const outer = scanner.level;
  for (const count = newCount(); scanner.level >= outer && !scanner.isAtEnd;) {
    yield;
    scanner.pass(count, scanner.at + STEP_LENGTH, outer);
  }
}

function nameIn(text: string): string | undefined {
  try {
    const name: unknown = JSON.parse(text);
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}
