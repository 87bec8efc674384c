import { LONE_SURROGATE, UNSAFE, written } from "../src/base/texts.ts";

const EITHER = new RegExp(`(?:${UNSAFE.source})|(?:${LONE_SURROGATE.source})`, "gu");
/** Marks in one text. What follows is marked as a whole: a browser stands still for a million elements. */
const MARKS = 1000;

/** A part of a foreign text as it is shown. */
export interface VisiblePart {
  readonly text: string;
  /** It has escapes of characters that cannot be shown. */
  readonly isUnsafe?: true;
}

/** The parts of a text. Characters that are invisible, reorder text or control a terminal are escapes. Nothing is left out. */
export function visibleParts(text: string): readonly VisiblePart[] {
  const whole = text.replaceAll("\r\n", "\n");
  const parts: VisiblePart[] = [];
  let from = 0;
  for (const { 0: character, index } of whole.matchAll(EITHER)) {
    if (parts.length >= 2 * MARKS) return [...parts, { text: visibleText(whole.slice(from)), isUnsafe: true }];
    if (index > from) parts.push({ text: whole.slice(from, index) });
    parts.push({ text: written(character), isUnsafe: true });
    from = index + character.length;
  }
  return from < whole.length ? [...parts, { text: whole.slice(from) }] : parts;
}

/** Like `visibleParts`, but text alone, for names of elements. */
export function visibleText(text: string): string {
  return text.replaceAll(EITHER, written);
}
