import { byteText, counted } from "../../../base/index.ts";
import { insetLines } from "../one-line.ts";

/** Fields of an input that its short form names. */
const FIELDS = 20;
/** UTF-16 units of a field's name and value in the short form. */
const FIELD_LENGTH = 240;
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
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  const texts = isObject
    ? Object.entries(input).map(([key, value]) => [/^\w+$/.test(key) ? key : JSON.stringify(key), jsonText(value)])
    : [["input", jsonText(input)]];
  const fields = texts.map(([name = "", value = ""]) => [shorten(name), shorten(value)] as const);
  const left = fields.length - FIELDS;
  return {
    lines: [
      ...fields.slice(0, FIELDS).flatMap(([name, value]) => insetLines(`${name.text}: ${value.text}`, columns)),
      ...(left > 0 ? [`  … and ${counted(left, "more field")}`] : []),
      ...(texts.length === 0 ? ["  (no fields)"] : []),
    ],
    isWhole: left <= 0 && fields.flat().every(({ isWhole }) => isWhole),
  };
}

export function wholeInput(input: unknown, columns: number): readonly string[] {
  const text = jsonText(input);
  return insetLines(text.length <= INDENTED_LENGTH ? jsonText(input, 2) : text, columns);
}

function shorten(text: string): { readonly text: string; readonly isWhole: boolean } {
  if (text.length <= FIELD_LENGTH) return { text, isWhole: true };
  return { text: `${text.slice(0, FIELD_LENGTH)}… (${byteText(Buffer.byteLength(text))} in full)`, isWhole: false };
}

function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    return "(nested too deeply to be shown)";
  }
}
