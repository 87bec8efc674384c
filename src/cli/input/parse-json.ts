import { optionError } from "../../errors.ts";

/** The value of an option that is JSON. Throws `option_invalid`. */
export function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw optionError(option, "JSON", text);
  }
}
