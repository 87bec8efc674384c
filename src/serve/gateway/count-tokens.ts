import { countTokens } from "../../tools/count-tokens.ts";
import { fieldOf } from "../../values/fields.ts";

/** About how many tokens a request has: its instructions, tools and messages, as one text. */
export function countedTokens(body: unknown): number {
  const counted = ["system", "instructions", "tools", "messages", "input"].map((name) => fieldOf(body, name));
  return counted.reduce((sum: number, part) => sum + (part === undefined ? 0 : countTokens(JSON.stringify(part))), 0);
}
