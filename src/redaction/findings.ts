import { PortcullisError } from "../errors.ts";
import type { RedactFinding } from "./redact-option.ts";

/** Maximum findings of one text. */
const MAX_FINDINGS = 100_000;
const WHAT_LENGTH = 40;

/** The findings, in order and without overlaps. Throws for anything but a list of findings within a text of this length. */
export function readFindings(given: unknown, length: number): readonly RedactFinding[] {
  if (!Array.isArray(given)) throw invalid("it gave no list");
  if (given.length > MAX_FINDINGS) throw invalid(`it found more than ${MAX_FINDINGS} parts of one text`);
  const findings = given.map((one: unknown) => readFinding(one, length));
  const merged: RedactFinding[] = [];
  for (const one of findings.toSorted((left, right) => left.start - right.start)) {
    const last = merged.at(-1);
    if (last && one.start < last.end) merged.splice(-1, 1, { ...last, end: Math.max(last.end, one.end) });
    else merged.push(one);
  }
  return merged;
}

function readFinding(given: unknown, length: number): RedactFinding {
  const { start, end, what } = typeof given === "object" && given !== null ? (given as Partial<RedactFinding>) : {};
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || typeof what !== "string")
    throw invalid("it gave something that is not { start, end, what }");
  const finding = { start: start as number, end: end as number, what };
  if (finding.start < 0 || finding.start >= finding.end || finding.end > length)
    throw invalid("it gave a part that is not in the text");
  return finding;
}

/** The mark in place of a text that was found. */
export function markOf(characters: number, what: string): string {
  const plain = what.replaceAll(/[^\w .-]/g, "").slice(0, WHAT_LENGTH);
  return `[redacted ${characters} ${characters === 1 ? "character" : "characters"}${plain === "" ? "" : `: ${plain}`}]`;
}

function invalid(why: string): PortcullisError {
  return new PortcullisError("callback_failed", `The \`redact\` function failed, so the text was left out: ${why}.`);
}
