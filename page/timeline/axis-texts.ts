import type { Tick } from "../../src/serve/views/timeline.ts";

/** Pixels that a character takes at most, and that are between two texts. */
const LETTER = 8;
const GAP = 8;

/** A text of the axis, in pixels. */
export interface PlacedText {
  readonly text: string;
  readonly from: number;
  readonly until: number;
}

/** The texts of an axis of this width. One that has no room beside those before it is left out, and none is beyond an end. */
export function axisTexts(ticks: readonly Tick[], width: number): readonly PlacedText[] {
  const shown: PlacedText[] = [];
  for (const { share, text } of ticks) {
    const room = text.length * LETTER;
    const from = Math.max(0, Math.min(width - room, share * width - room / 2));
    const last = shown.at(-1);
    if (!last || from >= last.until + GAP) shown.push({ text, from, until: from + room });
  }
  return shown;
}
