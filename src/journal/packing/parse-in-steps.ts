import { COMMA, fieldTexts, JsonScanner, MORE, newCount, type SlicedWork } from "../../base/index.ts";

/** A text up to this length is parsed in one step, in UTF-16 code units. A longer one may have as many values. */
const AT_ONCE = 256 * 1024;

/** Elements that a list may have: V8 keeps one of some 30 million as a table, which takes ten times the memory and the time. */
const MAX_ELEMENTS = 2 ** 24;

/** Adds elements to a list of a record. Throws a `SyntaxError` if it would have more than one of a journal can have. */
export function addTo(list: unknown[], elements: readonly unknown[]): void {
  if (list.length + elements.length > MAX_ELEMENTS) throw new SyntaxError("A list of a record has too many elements.");
  for (const element of elements) list.push(element);
}

/** `JSON.parse` of a row, in parts: a list in it may have a hundred thousand texts. Throws a `SyntaxError`. */
export function* parseInSteps(text: string): SlicedWork<unknown> {
  const texts = text.length > AT_ONCE ? yield* fieldTexts(text) : undefined;
  if (!texts) return yield* parsePart(text);
  const fields: [string, unknown][] = [];
  let parsed = 0;
  for (const [name, field] of texts) {
    parsed += field.length;
    if (parsed > AT_ONCE) {
      parsed = field.length;
      yield;
    }
    fields.push([name, field.startsWith("[") ? yield* parseList(field) : yield* parsePart(field)]);
  }
  return Object.fromEntries(fields);
}

/** What cannot be parsed in steps: a long text, or an object. */
function* parsePart(text: string): SlicedWork<unknown> {
  const scanner = new JsonScanner(text);
  const count = newCount();
  while (text.length > AT_ONCE && !scanner.isAtEnd) {
    scanner.pass(count, scanner.at + AT_ONCE);
    if (count.values > AT_ONCE) throw new SyntaxError("A part of a record has too many values.");
    yield;
  }
  return JSON.parse(text);
}

/** A list as `JSON.stringify` writes it: about as many of its elements at once as `AT_ONCE` allows. */
function* parseList(text: string): SlicedWork<unknown[]> {
  if (text.length <= AT_ONCE) return JSON.parse(text) as unknown[];
  const list: unknown[] = [];
  const scanner = new JsonScanner(text);
  scanner.next();
  for (let from = 1; scanner.level > 0; yield) {
    scanner.pass(newCount(), from + AT_ONCE, 1);
    for (let mark = MORE; scanner.level > 0 && !(mark === COMMA && scanner.level === 1);) mark = scanner.next();
    const elements = text.slice(from, scanner.end - 1);
    if (elements === "") throw new SyntaxError("A list of a record ends with a comma.");
    addTo(list, (yield* parsePart(`[${elements}]`)) as unknown[]);
    from = scanner.end;
  }
  if (scanner.end !== text.length || !text.endsWith("]")) throw new SyntaxError("A list of a record has no end.");
  return list;
}

export async function inSteps<Value>(work: SlicedWork<Value>, rest: () => Promise<void>): Promise<Value> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await rest();
  }
}
