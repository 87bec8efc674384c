import { cleanText } from "./clean-text.ts";

/** Short escapes of control characters, with their replacements. */
const WRITTEN: Readonly<Record<string, string>> = {
  "\\b": "\\\\u0008",
  "\\f": "\\\\u000c",
  "\\r": "\\\\u000d",
  "\\r\\n": "\\n",
};

/**
 * Cleans JSON text as `JSON.stringify` writes it. Its strings and names are clean in the text, and stay clean once the
 * text is parsed: some providers take values instead of text, and would turn `\u001b` into a live character again.
 */
export function cleanJson(text: string): string {
  return cleanText(text).replaceAll(
    /\\(?:u[0-9a-fA-F]{4}|r\\n|.)/g,
    (escape) => WRITTEN[escape] ?? (escape.startsWith("\\u") ? `\\${escape}` : escape),
  );
}
