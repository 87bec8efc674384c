import { cleanText } from "./clean-text.ts";

/** Escapes for control characters that have a letter of their own, as they are written out. */
const WRITTEN: Readonly<Record<string, string>> = {
  "\\b": "\\\\u0008",
  "\\f": "\\\\u000c",
  "\\r": "\\\\u000d",
  "\\r\\n": "\\n",
};

/**
 * JSON text, as `JSON.stringify` writes it, whose strings and names are clean as they stand in the text and as they are
 * once it is parsed: some providers take values and not text, and would make `\u001b` a live character again.
 */
export function cleanJson(text: string): string {
  return cleanText(text).replaceAll(
    /\\(?:u[0-9a-fA-F]{4}|r\\n|.)/g,
    (escape) => WRITTEN[escape] ?? (escape.startsWith("\\u") ? `\\${escape}` : escape),
  );
}
