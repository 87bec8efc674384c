import { cleanText } from "./clean-text.ts";

/** What stands before a line that is not the runtime's own. */
export const INSET = "  ";

/**
 * Text of a program, a tool or a provider, to stand beside the runtime's own words: every line after its first is set
 * in by two spaces, so that no line of it begins where the runtime's lines begin. Cleaned, for other characters break
 * lines too.
 */
export function insetLines(text: string): string {
  return cleanText(text).replaceAll(/\n(?=[^\n])/g, `\n${INSET}`);
}

/** The same, with its first line set in too. */
export function insetText(text: string): string {
  return INSET + insetLines(text);
}
