import type { CallResult } from "./model.ts";

/**
 * A result as a model reads it: where it comes from, then what it is. The reader is told in the same block that this
 * is data, so that nothing in it can pass for somebody's words. Programs read results bare; that is for the adapter.
 */
export function labelledText(result: CallResult): string {
  return `[${provenanceText(result)}]\n${result.text}`;
}

/** Where a result comes from, which call it answers, its size and what was cut. */
export function provenanceText({ callId, isError, provenance }: CallResult): string {
  const { tool, bytes, cut } = provenance;
  const what = isError ? "No result" : "Result";
  // Where no tool was meant it is the model's own word, which may hold anything.
  const name = /^[\w.-]+$/.test(tool) ? tool : JSON.stringify(tool);
  return `${what} of ${name}, call ${callId}, ${bytes} bytes${cut === undefined ? "" : `, ${cut}`}`;
}
