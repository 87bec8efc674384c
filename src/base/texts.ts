const UNITS = ["B", "KiB", "MiB", "GiB"];

/** A number of bytes in the largest unit that fits, like `2.9 KiB`. */
export function byteText(bytes: number): string {
  const power = UNITS.findLastIndex((_, larger) => larger === 0 || bytes >= 1024 ** larger);
  const value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${UNITS[power]}`;
}

const NUMBER = new Intl.NumberFormat("en-US");

/** A number for people, like `1,234`. */
export function count(number: number): string {
  return NUMBER.format(number);
}

/** `1 call`, `2 calls`. */
export function countText(number: number, what: string, several = `${what}s`): string {
  return `${count(number)} ${number === 1 ? what : several}`;
}

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

/** Indent of lines that are not the runtime's own. */
export const INSET = "  ";

/**
 * Indents text of a program, a tool or a provider: every line after the first, by two spaces, so that it cannot be
 * mistaken for a line of the runtime. The text is cleaned first, because other characters break lines too.
 */
export function insetLines(text: string): string {
  return cleanText(text).replaceAll(/\n(?=[^\n])/g, `\n${INSET}`);
}

/** Like `insetLines`, with the first line indented too. */
export function insetText(text: string): string {
  return INSET + insetLines(text);
}

/** The keys of a JSON pointer: `/a~1b/c` has `a/b` and `c`. */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}
