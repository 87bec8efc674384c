import type { CallResult } from "./model.ts";

/**
 * A result as a model reads it: a line with its provenance, then the text. The label marks the text as data, so that it
 * cannot pass for a message. Adapters send results to hosted programs without it.
 */
export function labelledText(result: CallResult): string {
  return `[${provenanceText(result)}]\n${result.text}`;
}

/** The tool, the call, the size and what was cut. */
export function provenanceText({ callId, isError, provenance }: CallResult): string {
  const { tool, bytes, cut } = provenance;
  const what = isError ? "No result" : "Result";
  // The name of an unknown tool was written by the model and may contain anything.
  const name = /^[\w.-]+$/.test(tool) ? tool : JSON.stringify(tool);
  return `${what} of ${name}, call ${callId}, ${bytes} bytes${cut === undefined ? "" : `, ${cut}`}`;
}
