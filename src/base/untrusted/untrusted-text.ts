import { sumOf } from "../places/counts.ts";
import { memoryOf, type Share } from "../values/held-bytes.ts";
import { JsonText, parsedJson } from "../values/json/json-text.ts";
import { JobThread, type Reader, type JobResult } from "./job-thread.ts";
import { type JsonBounds, type JsonFault, type LargeField, type Readers, READERS } from "./readers.ts";
import { entryTexts, fieldTexts } from "../values/json/json-fields.ts";
import type { LostData, Paths } from "../values/json/lost-data.ts";
import { measure } from "../values/json/json-scanner.ts";
import { Lane } from "../values/slice-scheduler.ts";

export type { JsonFault } from "./readers.ts";

declare const unread: unique symbol;

/**
 * A text that others wrote: a client, a guest, a model, a tool, a source, a file. At run time it is a string, but its type
 * has nothing of a string: only what is exported here reads it.
 */
export interface UntrustedText {
  readonly [unread]: true;
}

export const asUntrusted = (text: string): UntrustedText => text as unknown as UntrustedText;

const opened = (text: UntrustedText): string => text as unknown as string;

/** Who a text is read for. */
export interface TextReader extends Reader {
  /** Takes the memory of a copy that is read. Returns what gives it back; throws if there is none. */
  readonly hold: (bytes: number) => () => void;
}

/** Reads for an execution, which has the memory that the copy takes. */
export function readerOf(share: Share, signal?: AbortSignal): TextReader {
  const hold = (bytes: number) => {
    share.count(bytes);
    return () => share.giveBack(bytes);
  };
  return { tenant: share.lane.tenant, hold, ...(signal && { signal }) };
}

/** Reads for a tenant what is counted where it is held. */
export const readerFor = (tenant: string): TextReader => ({ tenant, hold: () => () => {} });

/** UTF-16 units of what is read at once: some two milliseconds of the thread. */
export const AT_ONCE = 64 * 1024;

/** Values that are made on this thread: they take some 20 ms at most. */
export const PARSED_VALUES = 65_536;

/** Reads larger texts. A text of 4 MiB takes 0.2 s, and three times its memory at most. */
const thread = new JobThread<{ readonly length: number }, unknown>({
  entry: () => new URL("./thread/thread.js", import.meta.url),
  jobMs: ({ length }) => 2000 + length / 10_000,
  heapMebibytes: 512,
  purpose: "reads large texts",
});

type Promisable<Value> = Value | Promise<Value>;

/** Texts are read in the caller's turn if they are short, without a promise; on the thread if they are long. */
function read<Name extends keyof Readers, Result>(
  name: Name,
  asked: Parameters<Readers[Name]>,
  reader: TextReader,
  convert: (settled: JobResult<ReturnType<Readers[Name]>>) => Result,
): Promisable<Result> {
  const texts = (asked as unknown[]).flat(3).filter((one) => typeof one === "string");
  const length = sumOf(texts, (text) => text.length);
  if (length <= AT_ONCE)
    return convert((READERS[name] as unknown as (...args: typeof asked) => ReturnType<Readers[Name]>)(...asked));
  const release = reader.hold(sumOf(texts, (text) => memoryOf(text)));
  const job = { name, asked, length } as { readonly length: number };
  return (thread.do(job, reader) as Promise<JobResult<ReturnType<Readers[Name]>>>).finally(release).then(convert);
}

/** The value of a text, or why it has none: it exceeds a bound, takes too long to be measured, or is no JSON. */
export type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: JsonFault };

/** As `ReadJson`, or what the value would not say of the text. */
export type ReadSound = ReadJson | { readonly ok: false; readonly fault: "lost"; readonly lost: LostData };

/** Of a text that was measured. */
function parsed(text: string): ReadJson {
  const value = parsedJson(text, true);
  return value === undefined ? { ok: false, fault: "syntax" } : { ok: true, value };
}

/** Measures a text that others parse, a provider's SDK: undefined if it is within the bounds. */
export function jsonFault(
  text: UntrustedText,
  bounds: JsonBounds,
  reader: TextReader,
): Promisable<JsonFault | undefined> {
  return read("exceeded", [opened(text), bounds], reader, (fault) => (fault === "given_up" ? "time" : fault));
}

/**
 * The value of JSON, made on this thread once its depth and its values are known, and that no object has a name twice, nor one of
 * these parts a number that no double keeps.
 */
export function readJson(
  text: UntrustedText,
  bounds: JsonBounds,
  reader: TextReader,
  parts: Paths = [],
): Promisable<ReadSound> {
  const source = opened(text);
  return read("unsound", [source, bounds, parts], reader, (fault): ReadSound => {
    if (typeof fault === "string") return { ok: false, fault: fault === "given_up" ? "time" : fault };
    const value = parsed(source);
    return fault === undefined || !value.ok ? value : { ok: false, fault: "lost", lost: fault };
  });
}

/** A text of plain JSON with whole numbers as `integerOf` has them, checked and not parsed; undefined for any other, and for one with a name twice. */
export async function readPlainJson(text: UntrustedText, reader: TextReader): Promise<JsonText | undefined> {
  return read("plain", [opened(text)], reader, (plain) =>
    plain === undefined || plain === "given_up" ? undefined : new JsonText(plain.text, plain.look),
  );
}

/** Why a text is no plain JSON; undefined if it is. */
export async function plainFault(text: UntrustedText, reader: TextReader): Promise<string | undefined> {
  return read("fault", [opened(text)], reader, (fault) => (fault === "given_up" ? "it takes too long to read" : fault));
}

/** A message that is parsed elsewhere, and what was cut out of it. */
export interface ReadMessage {
  readonly rest: string;
  readonly cut?: { readonly field: number; readonly part: JsonText | UntrustedText } | undefined;
}

/**
 * Reads a message with whole numbers as `integerOf` has them. It may have `bounds.values` values: if it has more, the first of
 * the large fields that has them is cut out, and `inPlace` stands there.
 */
export async function readJsonMessage(
  text: UntrustedText,
  { fields, bounds, inPlace }: MessageForm,
  reader: TextReader,
): Promise<ReadMessage | JsonFault> {
  return read("cut", [opened(text), fields, bounds, inPlace], reader, (message) => {
    if (typeof message === "string") return message === "given_up" ? "time" : message;
    const { rest, field, part } = message;
    if (part === undefined || field === undefined) return { rest };
    return { rest, cut: { field, part: part.look ? new JsonText(part.text, part.look) : asUntrusted(part.text) } };
  });
}

export interface MessageForm {
  readonly fields: readonly LargeField[];
  readonly bounds: JsonBounds;
  readonly inPlace: string;
}

/** Stands for an entry of a list that has more than `PARSED_VALUES` values. */
export class LargeEntry {
  readonly name: unknown;

  constructor(name: unknown) {
    this.name = name;
  }
}

/** The values of the first entries of a list, at most `most`; undefined for one that is no JSON. */
export async function entriesOf(list: UntrustedText, most: number, tenant: string): Promise<readonly unknown[]> {
  const lane = new Lane(tenant);
  const entries: unknown[] = [];
  for (const text of (await lane.work(entryTexts(opened(list), most))) ?? []) {
    const isSmall = text.length <= AT_ONCE || (await lane.run(() => measure(text).values)) <= PARSED_VALUES;
    const { name = "" } = isSmall ? {} : Object.fromEntries((await lane.work(fieldTexts(text.trim()))) ?? []);
    entries.push(
      isSmall ? parsedJson(text, true) : new LargeEntry(name.length <= AT_ONCE ? parsedJson(name) : undefined),
    );
  }
  return entries;
}

/** Whether each text is the JSON of a structure, of one of its fields, or of an element of one. */
export async function repeats(
  structure: UntrustedText,
  texts: readonly UntrustedText[],
  reader: TextReader,
): Promise<boolean> {
  return read("repeats", [opened(structure), texts.map(opened)], reader, (is) => is === true);
}

/**
 * The value of JSON with whole numbers as `integerOf` has them. Of more than `PARSED_VALUES` it is the text, which was checked,
 * and no value.
 */
export async function readExact(text: UntrustedText, bounds: JsonBounds, reader: TextReader): Promise<ReadJson> {
  return read("exact", [opened(text), bounds, PARSED_VALUES], reader, (exact): ReadJson => {
    if (typeof exact === "string") return { ok: false, fault: exact === "given_up" ? "time" : exact };
    return exact.look ? { ok: true, value: new JsonText(exact.text, exact.look) } : parsed(exact.text);
  });
}

/** Whether the texts of each pair are the same, or JSON of the same value. */
export async function areSame(
  pairs: readonly (readonly [UntrustedText, UntrustedText])[],
  reader: TextReader,
): Promise<boolean> {
  const different = pairs.map(([one, other]) => [opened(one), opened(other)] as const).filter(([a, b]) => a !== b);
  return read("areEqual", [different], reader, (are) => are === true);
}

/** JSON with plain escapes, as `withPlainEscapes` has it; undefined if that takes too long. */
export async function readPlainEscapes(text: UntrustedText, reader: TextReader): Promise<string | undefined> {
  return read("plainEscapes", [opened(text)], reader, (plain) => (plain === "given_up" ? undefined : plain));
}

/** The text itself, for what keeps it or sends it on as a whole and does not look into it. */
export const passOn = opened;

/** Size in UTF-8. */
export const bytesOf = (text: UntrustedText): number => Buffer.byteLength(opened(text));

/** Whether a text has nothing but white space. */
export const isBlank = (text: UntrustedText): boolean => !/\S/.test(opened(text));
