const BACKSLASH = "\\";

/**
 * JSON in which characters that need no escape have none: `a\/b` and `a\u002fb` become `a/b`. Servers write either, and
 * secrets are looked for in this form. Takes time linear in the text.
 */
export function withPlainEscapes(json: string): string {
  if (!json.includes("\\/") && !json.includes("\\u00")) return json;
  const parts: string[] = [];
  let kept = 0;
  for (let at = json.indexOf(BACKSLASH); at >= 0; at = json.indexOf(BACKSLASH, at + 2)) {
    const kind = json.charAt(at + 1);
    const length = kind === "/" ? 2 : kind === "u" ? 6 : 0;
    if (length === 0) continue;
    const code = kind === "/" ? SLASH : codeOf(json.slice(at + 2, at + 6));
    if (!isPlain(code)) continue;
    parts.push(json.slice(kept, at), String.fromCharCode(code));
    kept = at + length;
    // The next escape may follow at once.
    at = kept - 2;
  }
  return parts.join("") + json.slice(kept);
}

const SLASH = 0x2f;

const codeOf = (digits: string): number => (/^00[0-9a-fA-F]{2}$/.test(digits) ? Number.parseInt(digits, 16) : -1);

/** Characters that stand in a string as they are: printable ones of Latin 1, but no quotation mark and no backslash. */
function isPlain(code: number): boolean {
  return (code >= 0x20 && code <= 0x7e && code !== 0x22 && code !== 0x5c) || (code >= 0xa0 && code <= 0xff);
}
