import { issuesText, type Schema, validate } from "../tools/schema.ts";
import { type HeldOverdraft, memoryOf } from "../values/held-bytes.ts";
import { measure, type PlainData, readPlainData } from "../values/plain-data.ts";

/** Maximum of fields and elements in one input. A schema may report an issue for each, at about a microsecond of the host's thread. */
const MOST_VALUES = 40_000;
/** Memory per parsed value beside the text, measured on the worst case: empty lists in a list, with the schema's copy. */
const VALUE_BYTES = 72;

export type ReadInput = PlainData | { readonly ok: "no_room"; readonly overdraft: HeldOverdraft };

/**
 * Reads the text that a caller sent into the handler's input: parses it, checks that it is plain data of bounded depth,
 * and validates it against the tool's schema. Before parsing, `takeRoom` reserves the memory that the value will take.
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

/** A schema that throws did not expect the value, so the value is not a valid input. */
function unreadable(): PlainData {
  return { ok: false, reason: "it cannot be checked against the tool's schema" };
}
