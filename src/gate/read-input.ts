import { issuesText, type Schema, validate } from "../tools/schema.ts";
import { type HeldOverdraft, memoryOf } from "../values/held-bytes.ts";
import { measure, type PlainData, readPlainData } from "../values/plain-data.ts";

/** Fields and elements of one input. A schema may complain of each, which takes about a microsecond of the host's thread. */
const MOST_VALUES = 40_000;
/** Memory of a value beside its text: of the longest lists, an empty list in a list, with what a schema makes of it. */
const VALUE_BYTES = 72;

export type ReadInput = PlainData | { readonly ok: "no_room"; readonly overdraft: HeldOverdraft };

/**
 * The value that a handler gets, from the text that a caller sent: parsed here, checked to be plain data of
 * bounded depth, and then fitted to the tool's schema. Nothing else has seen or held the value before. `takeRoom` is
 * asked for the bytes that it will take, before it is parsed.
 */
export function readInput(
  schema: Schema,
  text: string,
  takeRoom: (bytes: number) => HeldOverdraft | undefined = () => undefined,
): ReadInput | Promise<ReadInput> {
  const measured = measure(text);
  const { values } = measured;
  const overdraft = values > MOST_VALUES ? undefined : takeRoom(memoryOf(text) + values * VALUE_BYTES);
  if (overdraft) return { ok: "no_room", overdraft };
  const read = readPlainData(text, MOST_VALUES, measured);
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
