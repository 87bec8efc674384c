import { optionError } from "../../errors.ts";
import type { OptionPresence, OptionRule } from "../../option-rules/options.ts";
import type { Language } from "../../../bridge/frames.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** A whole number from the command line, by the rule of its option; undefined without a text. Throws `option_invalid`, naming the flag. */
export function parseWhole(
  flag: string,
  text: string | undefined,
  rule: OptionRule<number, OptionPresence>,
): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!rule.accepts(number)) throw optionError(flag, rule.expected, text);
  return number;
}

/** The value of an option that is JSON. Throws `option_invalid`. */
export function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw optionError(option, "JSON", text);
  }
}

const SANDBOXES = ["isolate", "docker"] as const;

/** The sandbox that `--sandbox` names. */
export function parseSandbox(name: string): (typeof SANDBOXES)[number] {
  const found = SANDBOXES.find((sandbox) => sandbox === name);
  if (found === undefined) throw optionError("--sandbox", SANDBOXES.join(" or "), name);
  return found;
}

const LANGUAGES: readonly Language[] = ["javascript", "python"];

/** The language that `--language` names; JavaScript by default. */
export function parseLanguage(name: string | undefined): Language {
  if (name === undefined) return "javascript";
  const found = LANGUAGES.find((language) => language === name);
  if (found === undefined) throw optionError("--language", LANGUAGES.join(" or "), name);
  return found;
}

/** The values of `--approve`: how calls that need approval are decided. */
export const APPROVE_MODES = ["ask", "all", "none", "later"] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];

/** `canWait`: the command keeps its execution in a journal, so that a decision can come later. */
export function parseApprove(text: string, canWait = false): ApproveMode {
  const found = APPROVE_MODES.find((mode) => mode === text);
  if (found === undefined) throw optionError("--approve", "ask, all, none or later", text);
  if (found === "later" && !canWait)
    throw new Failure(
      EXIT.usage,
      "--approve later needs a program that `portcullis run` keeps in a journal: add --journal FILE.",
    );
  return found;
}
