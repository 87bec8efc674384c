import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompressSync } from "node:zlib";
import { PortcullisError } from "../../errors.ts";

/** A text longer than this is stored once, under the hash of its content, in UTF-16 code units. */
const INLINE_LENGTH = 64 * 1024;
/** Maximum length of the first line that is kept beside a stored text. */
const HEAD_LENGTH = 4096;
/** Maximum size of the stored texts of one record together, in bytes: more than a record of the default limits holds. */
const MAX_TEXT_BYTES = 512 * 1024 * 1024;

/** Stands in a stored record for a long text. */
interface TextRef {
  /** What comes before the stored text: the header of a frame, which differs even where its body is the same. */
  readonly head: string;
  readonly sha256: string;
}

/** A text as it is stored. */
export interface StoredText {
  readonly sha256: Buffer;
  readonly bytes: number;
  /** Compressed by zstd; null in a file where it is larger than a journal's can be. */
  readonly data: Buffer | null;
}

/** A record as it is stored: its JSON text, with references in place of its long texts. */
export interface PackedRecord {
  readonly text: string;
  readonly longTexts: readonly StoredText[];
}

/** Returns a promise only for a record with long texts, which are compressed off the thread. */
export function packRecord(record: unknown): PackedRecord | Promise<PackedRecord> {
  if (!holdsLongText(record)) return { text: JSON.stringify(record), longTexts: [] };
  const bodies = new Map<string, Buffer>();
  const text = JSON.stringify(record, (_key, value: unknown) => {
    if (!isLongText(value)) return value;
    const end = value.slice(0, HEAD_LENGTH).indexOf("\n") + 1;
    const body = Buffer.from(value.slice(end));
    const sha256 = createHash("sha256").update(body).digest("hex");
    bodies.set(sha256, body);
    return { head: value.slice(0, end), sha256 } satisfies TextRef;
  });
  return Promise.all(
    Array.from(bodies, async ([sha256, body]) => ({
      sha256: Buffer.from(sha256, "hex"),
      bytes: body.length,
      data: await compress(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
    })),
  ).then((longTexts) => ({ text, longTexts }));
}

const compress = promisify(zstdCompress);

/** UTF-8 cannot hold half of a surrogate pair, JSON can. */
function isLongText(value: unknown): value is string {
  return typeof value === "string" && value.length > INLINE_LENGTH && value.isWellFormed();
}

function holdsLongText(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return isLongText(value);
  return Object.values(value).some(holdsLongText);
}

/** The record of `packRecord`'s text. `find` returns a stored text. Throws `journal_corrupt` if a text is missing or altered. */
export function unpackRecord(text: string, find: (sha256: Buffer) => StoredText | undefined): unknown {
  if (!text.includes('"sha256":')) return JSON.parse(text);
  let allowed = MAX_TEXT_BYTES;
  const read = (ref: TextRef): string => {
    const stored = find(Buffer.from(ref.sha256, "hex"));
    if (!stored) throw corrupt(`the text ${ref.sha256} is missing`);
    // A text takes less than a thousandth of its size in the file, and a record can name it any number of times.
    if (!(stored.bytes >= 0 && stored.bytes <= allowed))
      throw corrupt("a record is larger than one of a journal can be");
    allowed -= stored.bytes;
    return readText(ref, stored);
  };
  return JSON.parse(text, (_key, value: unknown) => (isTextRef(value) ? read(value) : value));
}

function readText({ head, sha256 }: TextRef, stored: StoredText): string {
  const body = decompress(stored, sha256);
  if (createHash("sha256").update(body).digest("hex") !== sha256) throw corrupt(`the text ${sha256} was altered`);
  return head + body.toString("utf8");
}

function decompress({ data, bytes }: StoredText, sha256: string): Buffer {
  try {
    if (data === null) throw new Error("it is too large");
    return zstdDecompressSync(data, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    throw corrupt(`the text ${sha256} cannot be decompressed`);
  }
}

/** Records hold no other object with exactly these fields. */
function isTextRef(value: unknown): value is TextRef {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { head, sha256 } = value as Partial<TextRef>;
  return typeof head === "string" && typeof sha256 === "string" && Object.keys(value).length === 2;
}

function corrupt(what: string): PortcullisError {
  return new PortcullisError("journal_corrupt", `The journal is damaged: ${what}. Restore its file from a backup.`);
}
