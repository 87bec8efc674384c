import type { Language } from "../../../../bridge/frames.ts";

/** What is kept as it is: strings, templates and comments. A comment of a text in one line ends where its line was to end. */
const KEPT: Readonly<Record<Language, RegExp>> = {
  javascript:
    /"(?:[^"\\]|\\.?)*(?:"|$)|'(?:[^'\\]|\\.?)*(?:'|$)|`(?:[^`\\]|\\.?)*(?:`|$)|\/\*[^]*?\*\/|\/\/(?:(?!\\n).)*|(?:\\r)?\\n|\\t/g,
  python: /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\]|\\.?)*(?:"|$)|'(?:[^'\\]|\\.?)*(?:'|$)|#(?:(?!\\n).)*|(?:\\r)?\\n|\\t/g,
};

/**
 * A program in one line with line breaks where its model wrote `\n` between the lines: no program has a backslash there.
 * Undefined for a text without any, and for one in several lines, whose `\n` may be anything.
 */
export function withLineBreaks(source: string, language: Language): string | undefined {
  const text = source.trim();
  if (/[\r\n]/.test(text) || !text.includes("\\n")) return undefined;
  const broken = text.replaceAll(KEPT[language], (found) => {
    if (found === "\\t") return "\t";
    return found === "\\n" || found === "\\r\\n" ? "\n" : found;
  });
  return broken === text ? undefined : broken;
}
