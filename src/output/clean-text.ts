/**
 * Control characters but tab and line feed, line breaks that few know, and what Unicode lets take no room, which is
 * also what turns the direction of text: it can hide there. A single U+FE0F stays: it is how an emoji is told from a
 * symbol.
 */
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}|\ufe0f(?=\ufe0f)/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/**
 * Text that can be shown on a terminal and handed to a model as data: what would steer a terminal, reorder text
 * or hide in it is written out, like `\u001b`. JSON text stays JSON with the same value. Line breaks of other
 * systems become line feeds.
 */
export function cleanText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, written).replace(LONE_SURROGATE, written);
}

/** The UTF-16 units of a character as JSON writes them. */
function written(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}
