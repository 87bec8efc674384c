import { optionError } from "../../errors.ts";

/** An option that is a whole number from 1 on. Throws `option_invalid` for anything else. */
export function parseWhole(option: string, text: string, max?: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= 1 && number <= (max ?? Number.MAX_SAFE_INTEGER)))
    throw optionError(option, `a whole number from 1${max === undefined ? "" : ` to ${max}`}`, text);
  return number;
}
