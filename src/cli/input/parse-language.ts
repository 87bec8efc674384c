import type { Language } from "../../../bridge/frames.ts";
import { optionError } from "../../errors.ts";

const LANGUAGES: readonly Language[] = ["javascript", "python"];

/** The language that `--language` names; JavaScript by default. */
export function parseLanguage(name: string | undefined): Language {
  if (name === undefined) return "javascript";
  const found = LANGUAGES.find((language) => language === name);
  if (found === undefined) throw optionError("--language", LANGUAGES.join(" or "), name);
  return found;
}
