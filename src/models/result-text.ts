import { inOneLine } from "./content-parts.ts";
import type { CallResult, Provenance } from "./model.ts";

/** Longest phrase of another's in a label, in UTF-16 code units. */
const PHRASE_LENGTH = 120;
/** The same of a name. */
const NAME_LENGTH = 256;
/** The last millisecond that a date can have. */
const LAST_DATE = 8.64e15;

/**
 * A result as a model reads it: a line with its provenance, then the text. The label marks the text as data, so that it
 * cannot pass for a message. Adapters send results to hosted programs without it. `told` are phrases about its parts.
 */
export function labelledText(result: CallResult, told: readonly string[] = []): string {
  return `[${provenanceText(result, told)}]\n${result.text}`;
}

/** In one line: the tool, the call, the size, what was cut, where it comes from, since when, and what was done with it. */
export function provenanceText({ callId, isError, provenance }: CallResult, told: readonly string[] = []): string {
  const { tool, bytes, cut, summary } = provenance;
  return [
    `${isError ? "No result" : "Result"} of ${plain(tool)}`,
    `call ${idText(callId)}`,
    summary === undefined ? `${bytes} bytes` : inOneLine(summary, PHRASE_LENGTH),
    ...(cut === undefined ? [] : [cut]),
    ...historyOf(provenance),
    ...told,
  ].join(", ");
}

/** Of a program its summary has the time that it took. */
function historyOf({ source, at, filtered, approvedBy, summary }: Provenance): readonly string[] {
  return [
    ...(source === undefined ? [] : [`from ${plain(source)}`]),
    ...(at === undefined || summary !== undefined || !(Math.abs(at) <= LAST_DATE) ? [] : [`at ${timeText(at)}`]),
    ...(filtered === undefined ? [] : [`filtered: ${inOneLine(filtered, PHRASE_LENGTH)}`]),
    ...(approvedBy === undefined ? [] : [`approved by ${plain(approvedBy)}`]),
  ];
}

/** To the second, in UTC. */
function timeText(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The id of a call. Those of a transcript from a file may contain anything. */
export function idText(id: string): string {
  return /^[\w.:-]{1,256}$/.test(id) ? id : plain(id);
}

/** A name that others have chosen may contain anything: of an unknown tool the model has written it. */
function plain(name: string): string {
  const cut = name.slice(0, NAME_LENGTH);
  if (/^[\w.@-]+$/.test(cut)) return cut;
  // What JSON does not escape, and could hide text or break the line.
  return JSON.stringify(cut.replaceAll(/[\u007f-\u009f\u2028\u2029\p{Cf}\p{Cs}]/gu, " "));
}
