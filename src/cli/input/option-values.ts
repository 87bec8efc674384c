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

/** One of these words. Throws `option_invalid`, naming the option. */
export function parseWord<Word extends string>(
  option: string,
  words: readonly Word[],
  text: string,
  expected = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`,
): Word {
  const found = words.find((word) => word === text);
  if (found === undefined) throw optionError(option, expected, text);
  return found;
}

export function parseSandbox(name: string): "isolate" | "docker" {
  return parseWord("--sandbox", ["isolate", "docker"], name);
}

export function parseLanguage(name = "javascript"): Language {
  return parseWord("--language", ["javascript", "python"], name);
}

/** The values of `--approve`: how calls that need approval are decided. */
export const APPROVE_MODES = ["ask", "all", "none", "later"] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];

/** `canWait`: the command keeps its execution in a journal, so that a decision can come later. */
export function parseApprove(text: string, canWait = false): ApproveMode {
  const mode = parseWord("--approve", APPROVE_MODES, text);
  if (mode === "later" && !canWait)
    throw new Failure(
      EXIT.usage,
      "--approve later needs a program that `portcullis run` keeps in a journal: add --journal FILE.",
    );
  return mode;
}
