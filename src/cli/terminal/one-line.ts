import { cleanText } from "../../output/clean-text.ts";

/**
 * Text from elsewhere (names that a model called, messages, details of an engine) as a part of one line on a terminal:
 * it steers nothing, and begins no line of its own that would pass for one of ours.
 */
export function oneLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]/g, " ");
}
