import { type AxisText, type TimeScale, withRoom } from "../../src/views/time-scale.ts";

/** Pixels that a character takes at most, and that are between two texts. */
const LETTER = 8;
const GAP = 8;

/** A text of the axis, in pixels. */
export interface PlacedText extends AxisText {
  readonly isPause: boolean;
}

/**
 * The texts of an axis of this width. How long the pauses were comes first, because nothing else tells it. No time stands in
 * a pause, and none beyond an end of the axis.
 */
export function axisTexts({ ticks, pauses, place }: TimeScale, width: number): readonly PlacedText[] {
  const textAt = (share: number, text: string, isPause: boolean): PlacedText => {
    const room = text.length * LETTER;
    const from = Math.max(0, Math.min(width - room, share * width - room / 2));
    return { text, from, until: from + room, isPause };
  };
  const isInPause = (text: PlacedText) =>
    pauses.some((pause) => text.from < place(pause.until) * width && text.until > place(pause.from) * width);
  const all = [
    ...pauses.map(({ from, until, text }) => textAt((place(from) + place(until)) / 2, text, true)),
    ...ticks.map(({ share, text }) => textAt(share, text, false)).filter((text) => !isInPause(text)),
  ];
  return withRoom(all, GAP);
}
