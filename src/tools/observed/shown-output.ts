import type { JsonSchema } from "../json-schema/json-schema.ts";
import { jsonSchemaOf } from "../tool-schemas.ts";
import type { Tool } from "../tool.ts";

/** Schema of a tool's results, of a stream of its items: what was observed, else the declared one; undefined if nothing is known. */
export function shownOutput({ name, outputSchema: output, observed }: Tool): JsonSchema | undefined {
  return observed?.schema ?? (output && jsonSchemaOf(name, "output", output));
}

const STEPS = [1, 2, 5];

/** `observed in 20 or more results`. The number has few values, so that what models are told stays the same for long. */
export function observedText({
  observed,
  stream,
  outputSchema,
}: Pick<Tool, "observed" | "stream" | "outputSchema">): string {
  if (!observed || outputSchema) return "";
  const { results } = observed;
  const least = leastOf(results);
  const noun = `${stream ? "item" : "result"}${least === 1 && results === 1 ? "" : "s"}`;
  return `observed in ${least.toLocaleString("en")}${least === results && results < 5 ? "" : " or more"} ${noun}`;
}

/** The largest of 1, 2, 5, 10, 20, 50 … that is not above a number. */
function leastOf(number: number): number {
  let least = 1;
  for (let power = 1; power <= number; power *= 10)
    for (const step of STEPS) if (step * power <= number) least = step * power;
  return least;
}
