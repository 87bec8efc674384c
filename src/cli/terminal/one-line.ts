import { cleanText } from "../../output/clean-text.ts";

/**
 * Foreign text (names that a model called, messages, details of an engine) as part of one line on a terminal: without
 * control characters, and without line breaks, so that it cannot imitate a line of the command line.
 */
export function oneLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]/g, " ");
}

/** The beginning of a foreign text in one line, of at most `length` UTF-16 code units and `…` for the rest. */
export function shortLine(text: string, length: number): string {
  const line = oneLine(text.slice(0, length));
  return text.length > length ? `${line}…` : line;
}
