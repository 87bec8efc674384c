import type { LogView } from "../../src/serve/views/view.ts";
import { countText } from "../format.ts";

/** Pieces that are told apart. The rest is one piece: a browser stands still for a million elements. */
const PIECES = 2000;

/** Printed texts of one stream that follow each other are one piece. None of them is left out. */
export function logPieces(logs: readonly LogView[]): readonly LogView[] {
  const pieces: { text: string[]; readonly stream: LogView["stream"]; readonly dropped?: number }[] = [];
  for (const { stream, text, dropped } of logs) {
    const last = pieces.at(-1);
    if (last && pieces.length >= PIECES) last.text.push(droppedText(dropped), text);
    else if (last?.stream === stream && dropped === undefined) last.text.push(text);
    else pieces.push({ stream, text: [text], ...(dropped === undefined ? {} : { dropped }) });
  }
  return pieces.map(({ text, ...piece }) => ({ ...piece, text: text.join("") }));
}

/** What stands in the place of lines that were left out. */
export function droppedText(lines: number | undefined): string {
  return lines === undefined ? "" : `… ${countText(lines, "line")} left out …\n`;
}
