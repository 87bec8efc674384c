import { PortcullisError } from "../../../base/index.ts";

/** What a column of text cannot hold, and the character that stands before its digits. */
const ESCAPED = /[\\\0\p{Surrogate}]/gu;

/** Maximum length of a name as it is stored, in bytes: what an index holds. */
const MAX_STORED_NAME = 2000;

/** A name as a column holds it: the same, except for characters that PostgreSQL does not take. Throws `journal_invalid`. */
export function storedName(name: string): string {
  const stored = name.replace(ESCAPED, (one) => `\\${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  if (Buffer.byteLength(stored) <= MAX_STORED_NAME) return stored;
  throw new PortcullisError(
    "journal_invalid",
    `The name ${JSON.stringify(name.slice(0, 60))}… is longer than one in PostgreSQL may be (${MAX_STORED_NAME} bytes).`,
  );
}

export function readName(stored: string): string {
  return stored.replace(/\\([0-9a-f]{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
