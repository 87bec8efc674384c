import {
  didYouMean,
  lossText,
  lostData,
  optionError,
  type OptionPresence,
  type OptionRule,
  parsedJson,
  PortcullisError,
} from "../../base/index.ts";
import { UsageFailure } from "../failure.ts";
import type { Reader } from "../option.ts";
/** Reads a whole number, by the rule of its option. */
export function whole(rule: OptionRule<number, OptionPresence>): Reader<number> {
  return (flag, text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!rule.accepts(number)) throw optionError(flag, rule.expected, text);
    return number;
  };
}

/** Reads one of these words. */
export function word<const Word extends string>(words: readonly Word[]): Reader<Word> {
  return (flag, text) => {
    const found = words.find((one) => one === text);
    if (found !== undefined) return found;
    const expected = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
    const { code, message } = optionError(flag, expected, text);
    throw new PortcullisError(code, `${message}${didYouMean(text, words)}`);
  };
}

/** Reads JSON, of which no number or field may be lost. */
export function parseJson(flag: string, text: string): unknown {
  const value = parsedJson(text);
  if (value === undefined) throw optionError(flag, "JSON", text);
  const lost = lostData(text, value);
  if (lost) throw new PortcullisError("option_invalid", `${flag}: ${lossText(lost)}.`);
  return value;
}

/** Reads `CALL=JSON`. */
export function callResult(flag: string, text: string): readonly [call: string, result: { readonly value: unknown }] {
  const end = text.indexOf("=");
  if (end < 1) throw optionError(flag, 'CALL=JSON, like 3={"units":4}', text);
  return [text.slice(0, end), { value: parseJson(flag, text.slice(end + 1)) }];
}

/** The values of `--approve`: how calls that need approval are decided. */
export const APPROVE_MODES = ["ask", "all", "none", "later"] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];

/** Refuses `--approve later` unless the command keeps its execution in a journal: a decision could not come later. */
export function refuseLater(mode: ApproveMode, canWait: boolean): void {
  if (mode === "later" && !canWait)
    throw new UsageFailure(
      "--approve later needs a program that `portcullis run` keeps in a journal: add --journal FILE.",
    );
}
