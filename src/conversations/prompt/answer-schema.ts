import { resultSchemaOf, type ResultSchema } from "../../executions/drive/ending/result-schema.ts";
import { StepsSpent } from "../../tools/json-schema/steps.ts";
import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { issuesText, storedSchema, validate } from "../../tools/schema.ts";
import { cutMiddle, type Lane, readPlainData } from "../../base/index.ts";

/** Maximum of fields and elements of an answer that is checked. */
const MAX_VALUES = 40_000;
/** Maximum length of an answer that is checked, in UTF-16 code units. */
const MAX_LENGTH = 1024 * 1024;
/** Maximum bytes of what is wrong with an answer. */
const REASON_BYTES = 2048;

/** The schema that a journal has: it checks the same, and changes nothing. */
export function recordedSchema(json: JsonSchema | undefined): ResultSchema | undefined {
  return json && resultSchemaOf(storedSchema(json), "the journal's schema of the answer");
}

export type CheckedAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

/** Checks the text that a model gave as its answer: JSON, alone or in one block of code. */
export async function checkAnswer(text: string, { schema }: ResultSchema, lane: Lane): Promise<CheckedAnswer> {
  if (text.length > MAX_LENGTH) return { ok: false, reason: `it has more than ${MAX_LENGTH} characters.` };
  const read = await lane.run(() => readPlainData(jsonIn(text), MAX_VALUES));
  if (!read.ok) return { ok: false, reason: `${read.reason}.` };
  try {
    const validated = await lane.run(() => validate(schema, read.value));
    if (validated.ok) return validated;
    return { ok: false, reason: `${cutMiddle(issuesText(validated.issues), REASON_BYTES)}.` };
  } catch (error) {
    return {
      ok: false,
      reason: error instanceof StepsSpent ? "it takes too long to be checked." : "the schema cannot check it.",
    };
  }
}

const END_OF_THOUGHT = "</think>";

/** The JSON value of an answer that was checked, as the model gave it: a schema that changes values has not changed it. */
export function answeredValue(text: string): unknown {
  const read = readPlainData(jsonIn(text), MAX_VALUES);
  return read.ok ? read.value : undefined;
}

/** Models like to put JSON into a block of code, and some servers leave before it what the model thought. */
function jsonIn(text: string): string {
  const whole = text.trim();
  const end = '{["`'.includes(whole.charAt(0)) ? -1 : whole.indexOf(END_OF_THOUGHT);
  const trimmed = end < 0 ? whole : whole.slice(end + END_OF_THOUGHT.length).trim();
  if (!trimmed.startsWith("```") || !trimmed.endsWith("```")) return trimmed;
  const begin = trimmed.indexOf("\n");
  return begin < 0 ? trimmed : trimmed.slice(begin + 1, -3).trim();
}

/** What the system text says of the answer. Not every provider takes a schema beside tools. */
export function answerInstructions({ json }: ResultSchema): string {
  return `# Answer\n\nGive your answer as JSON alone, without any other text. It has to fit this JSON Schema:\n\n${JSON.stringify(json)}`;
}
