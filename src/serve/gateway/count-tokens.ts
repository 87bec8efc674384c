import { tokensInParts } from "../../tools/count-tokens.ts";
import { fieldOf } from "../../values/fields.ts";
import { jsonInParts } from "../../values/json/json-parts.ts";
import type { SlicedWork } from "../../values/slice-scheduler.ts";

/** About how many tokens a request has: its instructions, tools and messages, each as one text. */
export function* countedTokens(body: unknown): SlicedWork<number> {
  let tokens = 0;
  for (const name of ["system", "instructions", "tools", "messages", "input"]) {
    const part = fieldOf(body, name);
    if (part !== undefined) tokens += yield* tokensInParts(yield* jsonInParts(part));
  }
  return tokens;
}
