const FENCE = /^[ \t]*(`{3,}|~{3,})/;

/**
 * Code without the Markdown round it. Where a text has a fenced block, only what is in its first block stays, on
 * the lines where it was; all other lines become empty.
 */
export function stripFence(source: string): string {
  const lines = source.split("\n");
  const open = lines.findIndex((line) => FENCE.test(line));
  if (open < 0 || !startsMarkdown(lines, open)) return source;
  const fence = FENCE.exec(lines[open] ?? "")?.[1] ?? "";
  const length = lines
    .slice(open + 1)
    .findIndex((line) => line.trim().startsWith(fence) && line.trim().replaceAll(fence[0] ?? "", "") === "");
  const close = length < 0 ? lines.length : open + 1 + length;
  return lines.map((line, index) => (index > open && index < close ? line : "")).join("\n");
}

/** Three backticks may also stand in a template literal: a fence opens with nothing before it but prose. */
function startsMarkdown(lines: readonly string[], open: number): boolean {
  const info = (lines[open] ?? "").replace(FENCE, "").trim();
  return /^[\w+-]*$/.test(info) && lines.slice(0, open).every((line) => !/[;{}=]|=>|^\s*\/\//.test(line));
}
