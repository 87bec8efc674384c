/**
 * JSON text, as `JSON.stringify` writes it, without lone surrogates: half of a character, which some providers refuse
 * with the whole request and no UTF-8 can hold, becomes U+FFFD. `JSON.stringify` writes pairs as they are, so that
 * every escaped surrogate is a lone one.
 */
export function wellFormedJson(text: string): string {
  if (!text.includes("\\ud")) return text;
  return text.replaceAll(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length === 6 ? "\ufffd" : escape));
}
