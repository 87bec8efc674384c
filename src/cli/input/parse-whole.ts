import { optionError } from "../../errors.ts";
import type { OptionPresence, OptionRule } from "../../options/options.ts";

/** A whole number from the command line, by the rule of its option. Throws `option_invalid`, naming the flag. */
export function parseWhole(flag: string, text: string, rule: OptionRule<number, OptionPresence>): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!rule.accepts(number)) throw optionError(flag, rule.expected, text);
  return number;
}
