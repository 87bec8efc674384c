import { visibleParts } from "./visible-text.ts";

/**
 * Foreign text. Characters that are invisible, reorder text or control a terminal are shown as escapes and are marked, so
 * that they can be told from the same escape in the text.
 */
export function Text({ text }: { readonly text: string }) {
  return <>{visibleParts(text).map((part) => (part.isUnsafe ? <span class="unsafe">{part.text}</span> : part.text))}</>;
}
