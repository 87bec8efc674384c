import { optionError } from "../../errors.ts";

/** A whole number from 1, as an option has it. Throws `option_invalid` for anything else. */
export function parseWhole(option: string, text: string, most?: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= 1 && number <= (most ?? Number.MAX_SAFE_INTEGER)))
    throw optionError(option, `a whole number from 1${most === undefined ? "" : ` to ${most}`}`, text);
  return number;
}
