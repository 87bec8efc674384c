import { byteText } from "../../../output/byte-text.ts";
import { cleanText } from "../../../output/clean-text.ts";
import { counted } from "../../../output/count-text.ts";
import { foldLine } from "../fold-lines.ts";

/** Fields of an input that its short form names. */
const FIELDS = 20;
/** UTF-16 units of a field's name, and of its value, in the short form. */
const NAME_LENGTH = 60;
const VALUE_LENGTH = 240;
/** UTF-16 units of JSON text up to which it is indented. Indenting a deeply nested value takes the square of its length. */
const INDENTED_LENGTH = 4096;

/** The input of a call for a person to decide about. It was written by a model or a program, so it may contain anything. */
export interface ShownInput {
  readonly lines: readonly string[];
  /** Whether the input is shown in full. */
  readonly isWhole: boolean;
}

/**
 * The short form: each field on lines of its own, so that a long value hides no other field. `isWhole` is false if
 * values or fields are left out.
 */
export function shortInput(input: unknown, columns: number): ShownInput {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    const { text, isWhole } = shorten(jsonText(input), VALUE_LENGTH);
    return { lines: foldText(text, columns), isWhole };
  }
  const fields = Object.entries(input);
  if (fields.length === 0) return { lines: foldText("(no fields)", columns), isWhole: true };
  let isWhole = fields.length <= FIELDS;
  const lines = fields.slice(0, FIELDS).flatMap(([key, value]) => {
    const name = shorten(/^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key), NAME_LENGTH);
    const shown = shorten(jsonText(value), VALUE_LENGTH);
    isWhole &&= name.isWhole && shown.isWhole;
    return foldText(`${name.text}: ${shown.text}`, columns);
  });
  const left = fields.length - FIELDS;
  return { lines: left > 0 ? [...lines, `  … and ${counted(left, "more field")}`] : lines, isWhole };
}

export function wholeInput(input: unknown, columns: number): readonly string[] {
  const text = jsonText(input);
  return foldText(text.length <= INDENTED_LENGTH ? jsonText(input, 2) : text, columns);
}

function shorten(text: string, length: number): { readonly text: string; readonly isWhole: boolean } {
  if (text.length <= length) return { text, isWhole: true };
  return { text: `${text.slice(0, length)}… (${byteText(Buffer.byteLength(text))} in full)`, isWhole: false };
}

function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    return "(nested too deeply to be shown)";
  }
}

/**
 * Foreign text as indented lines that are no wider than the terminal. The terminal would wrap a longer line, and the rest
 * would begin at the left edge, where it could imitate a line of the command line.
 */
export function foldText(text: string, columns: number, indent = "  "): readonly string[] {
  const room = Math.max(columns - indent.length - 1, 20);
  return cleanText(text)
    .split("\n")
    .flatMap((line) => foldLine(line, room).map((part) => indent + part));
}
