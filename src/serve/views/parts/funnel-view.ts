import { countTokens } from "../../../tools/count-tokens.ts";
import type { FunnelPart, FunnelView } from "../view.ts";

/** Characters of results whose tokens are counted. The tokens of further results are estimated. */
const COUNTED = 64 * 1024;
/** Bytes of items that hold as many characters: a character takes up to three. */
export const COUNTED_BYTES = 3 * COUNTED;

/** Counts the tokens of texts: exactly up to a bound, and in proportion beyond. */
export function tokenCount() {
  let [all, countedBytes, counted, tokens] = [0, 0, 0, 0];
  /** The tokens of this many bytes of such texts. */
  const of = (bytes: number): FunnelPart => {
    if (bytes === countedBytes && bytes === all) return { bytes, tokens };
    // Four bytes a token are usual for JSON.
    const perByte = countedBytes === 0 ? 1 / 4 : tokens / countedBytes;
    return { bytes, tokens: Math.round(bytes * perByte), estimated: true };
  };
  return {
    of,
    seen: () => of(all),
    add(text: string, bytes: number): void {
      all += bytes;
      const part = text.slice(0, Math.max(0, COUNTED - counted));
      if (part === "") return;
      counted += part.length;
      countedBytes += part.length === text.length ? bytes : Buffer.byteLength(part);
      tokens += countTokens(part);
    },
  };
}

/** The tokens of a whole text. */
export function partOf(text: string, isExact: boolean): FunnelPart {
  const count = tokenCount();
  count.add(text, Buffer.byteLength(text));
  return isExact ? count.seen() : { ...count.seen(), estimated: true };
}

/** Bytes of results that tell how many tokens other JSON has. Four bytes a token are usual. */
const SAMPLE_BYTES = 256;

/** The funnel of a conversation, or of a part of it: what its calls returned, and the results that its model was given. */
export function conversationFunnel(
  calls: readonly { readonly bytes: number }[],
  results: readonly { readonly text: string }[],
): FunnelView {
  const fetched = calls.reduce((sum, { bytes }) => sum + bytes, 0);
  const returned = partOf(results.map(({ text }) => text).join("\n"), true);
  const perByte = returned.bytes < SAMPLE_BYTES ? 1 / 4 : returned.tokens / returned.bytes;
  return { fetched: { bytes: fetched, tokens: Math.round(fetched * perByte), estimated: true }, returned };
}
