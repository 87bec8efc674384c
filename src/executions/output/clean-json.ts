import { cleanText, type Lane, type SlicedWork } from "../../base/index.ts";

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

const SLICE_LENGTH = 64 * 1024;

/** The same in the lane of a tenant, for a text of any length. */
export async function cleanLongJson(text: string, lane: Lane): Promise<string> {
  return text.length <= SLICE_LENGTH ? cleanJson(text) : lane.work(cleanInSlices(text));
}

function* cleanInSlices(text: string): SlicedWork<string> {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const end = sliceEnd(text, from);
    const part = text.slice(from, end);
    // Whether a selector of variants stays depends on the next one.
    parts.push(text.charAt(end) === SELECTOR ? cleanJson(part + SELECTOR).slice(0, -1) : cleanJson(part));
    from = end;
    yield;
  }
  return parts.join("");
}

const SELECTOR = "\ufe0f";

/** Where a slice ends: within no escape, no pair of surrogates and no CR LF. */
function sliceEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && end < from + SLICE_LENGTH) {
    if (text.charAt(end) !== "\\") end += 1;
    else if (text.startsWith("\\r\\n", end)) end += 4;
    else end += text.charAt(end + 1) === "u" ? 6 : 2;
  }
  const isWithin = /^(?:[\ud800-\udbff][\udc00-\udfff]|\r\n)/.test(text.slice(end - 1, end + 1));
  return isWithin ? end + 1 : end;
}
