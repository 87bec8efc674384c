import type { ComponentChildren } from "preact";
import { LONE_SURROGATE, UNSAFE, written } from "../src/output/clean-text.ts";

const EITHER = new RegExp(`(?:${UNSAFE.source})|(?:${LONE_SURROGATE.source})`, "gu");

/**
 * Foreign text. Characters that are invisible, reorder text or control a terminal are shown as escapes and are marked, so
 * that they can be told from the same escape in the text.
 */
export function Text({ text }: { readonly text: string }) {
  return <>{visibleParts(text)}</>;
}

export function visibleParts(text: string): ComponentChildren[] {
  const whole = text.replaceAll("\r\n", "\n");
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: character, index } of whole.matchAll(EITHER)) {
    if (index > from) parts.push(whole.slice(from, index));
    parts.push(<span class="unsafe">{written(character)}</span>);
    from = index + character.length;
  }
  if (from < whole.length) parts.push(whole.slice(from));
  return parts;
}

/** The same as text alone, for names of elements. */
export function visibleText(text: string): string {
  return text.replaceAll(EITHER, written);
}
