/**
 * Control characters except tab and line feed, Unicode line separators, and invisible characters, which can hide text
 * or change its direction. A single U+FE0F stays: it distinguishes an emoji from a symbol.
 */
export const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}|\ufe0f(?=\ufe0f)/gu;
export const LONE_SURROGATE = /\p{Surrogate}/gu;

/**
 * Cleans text for a terminal and for a model: characters that control a terminal, reorder text or are invisible become
 * escapes like `\u001b`. JSON text stays JSON with the same value. CR LF becomes a line feed.
 */
export function cleanText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, written).replace(LONE_SURROGATE, written);
}

/** The UTF-16 units of a character as JSON writes them. */
export function written(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}
