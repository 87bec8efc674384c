import type { RedactFinding } from "./redact-option.ts";

/** Characters of a key in PEM, with its markers. */
const KEY_LENGTH = 16 * 1024;
const MARKERS = /-----(BEGIN|END) ?[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** What follows the beginning of a key without an end: its headers and lines, as they are or in a string of code. */
const CUT_KEY =
  /(?:(?:\s|\\[nr])*[A-Z][A-Za-z-]{1,30}: [^\n\\]{0,200}){0,8}(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})*(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{1,76}(?=[\s\\]*$))?/y;
/** Ids of access keys of AWS, and keys of age. */
const KEYS: Readonly<Record<string, RegExp>> = {
  "aws-key-id": /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  "age-key": /(?<![A-Za-z0-9])AGE-SECRET-KEY-1[0-9A-Z]{58}(?![A-Za-z0-9])/g,
};

const PRIVATE_KEY = "privatekey";

/** Kinds of keys that `findKeys` finds. */
export const KEY_KINDS: readonly string[] = [PRIVATE_KEY, ...Object.keys(KEYS)];

/** Private keys in PEM of every kind (PKCS #8, encrypted or not, SEC1, RSA, OpenSSH, PGP), even without an end, and `KEYS`. */
export function findKeys(text: string): readonly RedactFinding[] {
  const found: RedactFinding[] = [];
  for (const [what, pattern] of Object.entries(KEYS))
    for (const { index, 0: key } of text.matchAll(pattern)) found.push({ start: index, end: index + key.length, what });
  const markers = [...text.matchAll(MARKERS)];
  for (const [place, { index: start, 0: marker, 1: kind }] of markers.entries()) {
    if (kind === "END") continue;
    const next = markers[place + 1];
    const end = next?.[1] === "END" ? next.index + next[0].length : Number.POSITIVE_INFINITY;
    found.push({
      start,
      end: end - start <= KEY_LENGTH ? end : endOfCutKey(text, start + marker.length),
      what: PRIVATE_KEY,
    });
  }
  return found;
}

function endOfCutKey(text: string, from: number): number {
  CUT_KEY.lastIndex = from;
  return from + (CUT_KEY.exec(text)?.[0].length ?? 0);
}
