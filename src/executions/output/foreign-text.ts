import { cleanText } from "./clean-text.ts";

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
