import { inOneLine } from "./content-parts.ts";
import type { CallResult, Provenance } from "../model.ts";

const PHRASE_LENGTH = 120;
const NAME_LENGTH = 256;
const FROM_LENGTH = 2048;
/** Indent of text that is not the runtime's own, as in reports. */
const INSET = "  ";
/** How each phrase of a label begins. No text of a result begins so: `labelledText` indents such a text. */
const PHRASES = {
  failed: "failed",
  cut: "cut: ",
  source: "from ",
  at: "at ",
  filtered: "filtered: ",
  approvedBy: "approved by ",
  with: "with ",
  without: "without ",
} as const;
const BEGINS_LIKE_LABEL = new RegExp(`^\\[(?:${Object.values(PHRASES).join("|")})`);

export interface BlockFacts {
  /** Whether the block itself says that a call has failed. */
  readonly marksFailure: boolean;
  /** Phrases about the images, files and links of the result, which begin with `with` or `without`. */
  readonly notes: readonly string[];
}

/**
 * A result as a model reads it: its text, after one line with what the provider's block does not say, if there is any.
 * JSON cannot begin like such a line, and other text that does is indented. Hosted programs get no such line.
 */
export function labelledText(result: CallResult, facts: BlockFacts): string {
  const label = labelOf(result, facts);
  if (label !== undefined) return `[${label}]\n${result.text}`;
  return BEGINS_LIKE_LABEL.test(result.text) ? INSET + result.text : result.text;
}

/**
 * One line: whether the call failed, what was cut, where the result comes from, what was taken out, who approved the
 * call, and what is beside the text. Undefined if the provider's block says everything.
 */
export function labelOf({ isError, provenance }: CallResult, { marksFailure, notes }: BlockFacts): string | undefined {
  const { source, from, filtered, approvedBy } = provenance;
  const phrases = [
    isError && !marksFailure ? PHRASES.failed : [],
    cutPhrases(provenance),
    source === undefined ? [] : PHRASES.source + plain(source),
    from === undefined ? [] : PHRASES.at + JSON.stringify(inOneLine(from, FROM_LENGTH)),
    filtered === undefined ? [] : PHRASES.filtered + inOneLine(filtered, PHRASE_LENGTH),
    approvedBy === undefined ? [] : PHRASES.approvedBy + plain(approvedBy),
    notes,
  ].flat();
  return phrases.length === 0 ? undefined : phrases.join(", ");
}

/** The summary of a program already says how much there was. */
function cutPhrases({ bytes, cut, summary }: Provenance): readonly string[] {
  if (cut === undefined) return [];
  const whole = summary === undefined ? `${bytes} bytes, ` : "";
  return [PHRASES.cut + whole + inOneLine(cut, PHRASE_LENGTH)];
}

/** The id of a call. Ids of a transcript from a file may contain anything. */
export function callIdText(id: string): string {
  return /^[\w.:-]{1,256}$/.test(id) ? id : plain(id);
}

/** A name that others have chosen may contain anything: the model has written the name of an unknown tool. */
function plain(name: string): string {
  const cut = name.slice(0, NAME_LENGTH);
  if (/^[\w.@-]+$/.test(cut)) return cut;
  // What JSON does not escape, and could hide text or break the line.
  return JSON.stringify(cut.replaceAll(/[\u007f-\u009f\u2028\u2029\p{Cf}\p{Cs}]/gu, " "));
}
