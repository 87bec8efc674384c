import { cleanText } from "../../output/clean-text.ts";

/**
 * Foreign text (names that a model called, messages, details of an engine) as part of one line on a terminal: without
 * control characters, and without line breaks, so that it cannot imitate a line of the command line.
 */
export function oneLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]/g, " ");
}
