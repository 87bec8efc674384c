import { createHash } from "node:crypto";
import { promisify } from "node:util";
// Not by names: an older node lacks some, and could not even link the package to say which node it needs.
import zlib from "node:zlib";
import { isAnyObject, isFields, isTexts, nextTurn } from "../../base/index.ts";
import { journalDamaged } from "../journal-error.ts";
import type { JournalRecord } from "../record.ts";
import { addTo, inSteps, parseInSteps } from "./parse-in-steps.ts";

/** A text longer than this is stored once, under the hash of its content, in UTF-16 code units. */
const INLINE_LENGTH = 64 * 1024;
/** Maximum length of the first line that is kept beside a stored text. */
const HEAD_LENGTH = 4096;
/** Maximum size of the stored texts of one record together, in bytes: more than a record of the default limits holds. */
const MAX_TEXT_BYTES = 512 * 1024 * 1024;

/** Length of the short texts of one list that stay in its record together; a longer list is stored in parts. */
const LIST_LENGTH = 256 * 1024;
/** What JSON takes for a text of a list beside its characters, and for a character at most. */
const [BESIDE, ESCAPED] = ['"",'.length, String.raw`\u0000`.length];
/** Maximum size of a part of a list, in bytes: half of a long list and one more short text. */
const MAX_PART_BYTES = (LIST_LENGTH / 2 + INLINE_LENGTH + BESIDE) * ESCAPED;

/** Stands in a stored record for a long text. */
interface TextRef {
  /** What comes before the stored text: the header of a frame, which differs even if its body is the same. */
  readonly head: string;
  readonly sha256: string;
}

/** Stands in a list of a stored record for some of its texts. The stored text is a JSON list of them. */
type PartRef = { readonly part: true; readonly sha256: string };

export interface StoredText {
  readonly sha256: Buffer;
  readonly bytes: number;
  /** Compressed by zstd; null if the stored text is larger than a text of a journal can be. */
  readonly data: Buffer | null;
}

/** A record as it is stored: its JSON text, with references in place of its long texts and of parts of its long lists. */
export interface PackedRecord {
  readonly text: string;
  readonly longTexts: readonly StoredText[];
}

/** The records as they are stored. Packed before a transaction begins: others wait while it lasts. */
export async function packRecords(records: readonly JournalRecord[]): Promise<PackedRecord[]> {
  const packed: PackedRecord[] = [];
  for (const record of records) {
    // A record that is not an object would be stored as text that no reader accepts.
    if (!isAnyObject(record)) throw new TypeError("A record of a journal is an object.");
    const one = packRecord(record);
    packed.push(one instanceof Promise ? await one : one);
  }
  return packed;
}

/** Returns a promise only for a record with long texts or lists. The texts are compressed off the host's thread. */
export function packRecord(record: object): PackedRecord | Promise<PackedRecord> {
  return holdsLongText(record) || Object.values(record).some(isLongList)
    ? packLarge(record)
    : { text: JSON.stringify(record), longTexts: [] };
}

async function packLarge(record: object): Promise<PackedRecord> {
  const bodies = new Map<string, Buffer>();
  const keep = (text: string): string => {
    const body = Buffer.from(text);
    const sha256 = createHash("sha256").update(body).digest("hex");
    bodies.set(sha256, body);
    return sha256;
  };
  const packed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record) as [string, unknown][])
    packed[name] = isTexts(value) ? await packList(value, keep) : value;
  const text = JSON.stringify(packed, (_key, value: unknown) =>
    isLongText(value) ? refTo(value as string, keep) : value,
  );
  const longTexts = await Promise.all(
    Array.from(bodies, async ([sha256, body]) => ({
      sha256: Buffer.from(sha256, "hex"),
      bytes: body.length,
      data: await compress(body),
    })),
  );
  return { text, longTexts };
}

function refTo(text: string, keep: (text: string) => string): TextRef {
  const end = text.slice(0, HEAD_LENGTH).indexOf("\n") + 1;
  return { head: text.slice(0, end), sha256: keep(text.slice(end)) };
}

/** A list of texts with references to its long texts, and to parts of the list if it is long. */
async function packList(texts: readonly string[], keep: (text: string) => string): Promise<unknown[]> {
  const isLong = isLongList(texts);
  const packed: unknown[] = [];
  let part: string[] = [];
  let length = 0;
  const endPart = async () => {
    if (part.length > 0) packed.push({ part: true, sha256: keep(JSON.stringify(part)) } satisfies PartRef);
    part = [];
    length = 0;
    await nextTurn();
  };
  for (const text of texts) {
    if (isLongText(text)) {
      if (isLong) await endPart();
      packed.push(refTo(text, keep));
      await nextTurn();
    } else if (!isLong) packed.push(text);
    else if (text.length > INLINE_LENGTH) {
      await endPart();
      packed.push(text);
    } else {
      part.push(text);
      length += text.length + BESIDE;
      if (length > LIST_LENGTH / 2) await endPart();
    }
  }
  await endPart();
  return packed;
}

function isLongList(value: unknown): boolean {
  if (!isTexts(value)) return false;
  let length = 0;
  for (const text of value) {
    if (!isLongText(text)) length += text.length + BESIDE;
    if (length > LIST_LENGTH) return true;
  }
  return false;
}

function compress(body: Buffer): Promise<Buffer> {
  const params = { [zlib.constants.ZSTD_c_compressionLevel]: 1 };
  return promisify(zlib.zstdCompress)(body, { params });
}

/** UTF-8 cannot hold half of a surrogate pair, JSON can. */
function isLongText(value: unknown): boolean {
  return typeof value === "string" && value.length > INLINE_LENGTH && value.isWellFormed();
}

function holdsLongText(value: unknown): boolean {
  if (!isAnyObject(value)) return isLongText(value);
  return Object.values(value).some(holdsLongText);
}

type Sizes = ReadonlyMap<string, number>;

export interface TextStore {
  /** Bytes of each of these texts that is stored, by its hash in hexadecimal digits. */
  readonly sizesOf: (hashes: readonly string[]) => Sizes | Promise<Sizes>;
  readonly find: (sha256: Buffer) => StoredText | undefined | Promise<StoredText | undefined>;
  /** Called before each step, with all bytes of the record's stored texts. */
  readonly hold: (bytes: number) => Promise<void>;
  /** Whether the items of a batch are wanted, by the bytes of their text. They are if this is missing. */
  readonly wantsItems?: (bytes: number) => boolean;
}

/** Whether the items of one more batch are wanted: as long as those before it have fewer bytes than this. */
export function itemsUpTo(bytes: number): (more: number) => boolean {
  let remaining = bytes;
  return (more) => {
    const isWanted = remaining > 0;
    remaining -= more;
    return isWanted;
  };
}

/** What the frame of a batch begins with, and what stands in place of its items if they are not wanted. */
const ITEMS = '{"kind":"items",';
const NO_ITEMS = "[]";

/** The record of `packRecord`'s text. Rejects with `journal_corrupt` if a text is missing or altered. */
export async function unpackRecord(text: string, store: TextStore): Promise<unknown> {
  const record = await inSteps(parseInSteps(text), () => store.hold(0));
  if (!text.includes('"sha256":')) return record;
  const sizes = await store.sizesOf(placesIn(record).map(({ ref }) => ref.sha256));
  leaveItemsOut(record, sizes, store);
  const places = placesIn(record);
  let bytes = 0;
  for (const { ref } of places) {
    const size = sizes.get(ref.sha256);
    if (size === undefined) throw journalDamaged(`the text ${ref.sha256} is missing`);
    // A text takes less than a thousandth of its size in the file, and a record can name it any number of times.
    if (!(size >= 0 && bytes + size <= MAX_TEXT_BYTES && ("head" in ref || size <= MAX_PART_BYTES)))
      throw journalDamaged("a record is larger than one of a journal can be");
    bytes += size;
  }
  const read = async (sha256: string): Promise<string> => {
    await store.hold(bytes);
    const stored = await store.find(Buffer.from(sha256, "hex"));
    if (!stored) throw journalDamaged(`the text ${sha256} is missing`);
    return readText(sha256, stored, () => store.hold(bytes));
  };
  for (const { ref, put } of places) if ("head" in ref) put(ref.head + (await read(ref.sha256)));
  await joinParts(record, async ({ sha256 }) => {
    const part = await inSteps(parseInSteps(await read(sha256)), () => store.hold(bytes));
    if (!isTexts(part)) throw journalDamaged(`the text ${sha256} is no list of texts`);
    return part;
  });
  return record;
}

/** Does not read the items of a batch that are not wanted: reading a stream takes as long as decompressing all of it. */
function leaveItemsOut(record: unknown, sizes: Sizes, { wantsItems }: TextStore): void {
  if (!isAnyObject(record) || !wantsItems) return;
  const { type, event } = record as { readonly type?: unknown; readonly event?: unknown };
  if (type !== "turn" || !isRef(event) || !("head" in event) || !event.head.startsWith(ITEMS)) return;
  if (wantsItems(sizes.get(event.sha256) ?? 0)) return;
  Object.assign(record, { event: event.head + NO_ITEMS });
}

/** A reference in a record, with the function that puts its text there. */
interface Place {
  readonly ref: TextRef | PartRef;
  readonly put: (text: string) => void;
}

async function joinParts(record: unknown, readPart: (ref: PartRef) => Promise<readonly string[]>): Promise<void> {
  if (!isAnyObject(record)) return;
  for (const [name, list] of Object.entries(record) as [string, unknown][]) {
    if (!Array.isArray(list) || !list.some(isPart)) continue;
    const joined: unknown[] = [];
    for (const item of list as unknown[]) addTo(joined, isPart(item) ? await readPart(item) : [item]);
    Object.defineProperty(record, name, { value: joined, writable: true, enumerable: true, configurable: true });
  }
}

/** The deepest texts of a record are in an object of a list. */
const TEXT_DEPTH = 3;

function placesIn(value: unknown, depth = 0): Place[] {
  if (!isAnyObject(value) || depth > TEXT_DEPTH) return [];
  return Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    if (!isRef(one)) return placesIn(one, depth + 1);
    const put = (text: string) => {
      Object.defineProperty(value, name, { value: text, writable: true, enumerable: true, configurable: true });
    };
    return [{ ref: one, put }];
  });
}

const HASHED_BYTES = 1024 * 1024;

async function readText(sha256: string, stored: StoredText, rest: () => Promise<void>): Promise<string> {
  const body = await decompressed(stored, sha256);
  const hash = createHash("sha256");
  for (let at = 0; at < body.length; at += HASHED_BYTES) {
    hash.update(body.subarray(at, at + HASHED_BYTES));
    await rest();
  }
  if (hash.digest("hex") !== sha256) throw journalDamaged(`the text ${sha256} was altered`);
  return body.toString("utf8");
}

async function decompressed({ data, bytes }: StoredText, sha256: string): Promise<Buffer> {
  try {
    if (data === null) throw new Error("it is too large");
    return await promisify(zlib.zstdDecompress)(data, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    throw journalDamaged(`the text ${sha256} cannot be decompressed`);
  }
}

/** Records hold no other object with exactly these fields. */
function isRef(value: unknown): value is TextRef | PartRef {
  if (!isFields(value)) return false;
  const { head, part, sha256 } = value as Partial<TextRef & PartRef>;
  return (typeof head === "string" || part === true) && typeof sha256 === "string" && Object.keys(value).length === 2;
}

function isPart(value: unknown): value is PartRef {
  return isRef(value) && "part" in value;
}
