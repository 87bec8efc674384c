import { issuesText, type Schema, validate } from "../tools/schema.ts";
import { plainDataFault } from "./plain-data.ts";

export type ReadInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

/**
 * The value that a handler gets, from the text that a caller sent: parsed here, checked to be plain data of
 * bounded depth, and then fitted to the tool's schema. Nothing else has seen or held the value before.
 */
export function readInput(schema: Schema, text: string): ReadInput | Promise<ReadInput> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: "it is not JSON" };
  }
  const fault = plainDataFault(value);
  if (fault !== undefined) return { ok: false, reason: fault };
  try {
    const validated = validate(schema, value);
    return validated instanceof Promise ? validated.then(toReadInput, unreadable) : toReadInput(validated);
  } catch {
    return unreadable();
  }
}

function toReadInput(validated: Awaited<ReturnType<typeof validate>>): ReadInput {
  return validated.ok ? validated : { ok: false, reason: issuesText(validated.issues) };
}

/** A schema that throws has met a value its author did not expect: that value is no valid input. */
function unreadable(): ReadInput {
  return { ok: false, reason: "it cannot be checked against the tool's schema" };
}
