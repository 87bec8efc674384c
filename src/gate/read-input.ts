import { issuesText, type Schema, validate } from "../tools/schema.ts";
import { type PlainData, readPlainData } from "../values/plain-data.ts";

/** Fields and elements of one input. A schema may complain of each, which takes about a microsecond of the host's thread. */
const MOST_VALUES = 40_000;

/**
 * The value that a handler gets, from the text that a caller sent: parsed here, checked to be plain data of
 * bounded depth, and then fitted to the tool's schema. Nothing else has seen or held the value before.
 */
export function readInput(schema: Schema, text: string): PlainData | Promise<PlainData> {
  const read = readPlainData(text, MOST_VALUES);
  if (!read.ok) return read;
  try {
    const validated = validate(schema, read.value);
    return validated instanceof Promise ? validated.then(toPlainData, unreadable) : toPlainData(validated);
  } catch {
    return unreadable();
  }
}

function toPlainData(validated: Awaited<ReturnType<typeof validate>>): PlainData {
  return validated.ok ? validated : { ok: false, reason: issuesText(validated.issues) };
}

/** A schema that throws has met a value its author did not expect: that value is no valid input. */
function unreadable(): PlainData {
  return { ok: false, reason: "it cannot be checked against the tool's schema" };
}
