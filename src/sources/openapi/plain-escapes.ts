/**
 * JSON in which characters that need no escape have none: `a\/b` and `a\u002fb` become `a/b`. Servers write them either way,
 * so a text that is looked for in JSON is looked for in this form. Linear in the text.
 */
export function withPlainEscapes(json: string): string {
  if (!json.includes("\\/") && !json.includes("\\u00")) return json;
  return json.replaceAll(/\\(?:u00([0-9a-fA-F]{2})|[^])/g, (escape: string, code: string | undefined) => {
    if (escape === "\\/") return "/";
    const character = code === undefined ? "" : String.fromCharCode(Number.parseInt(code, 16));
    return /^[ !#-[\]-~\xa0-\xff]$/.test(character) ? character : escape;
  });
}
