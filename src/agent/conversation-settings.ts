import { PortcullisError } from "../errors.ts";
import type { ModelSettings } from "../models/model.ts";
import { SETTINGS_RULES } from "../models/settings.ts";
import { checkOptions, fieldsOf, flag, object, type OptionsOf, wholeNumber } from "../option-rules/options.ts";
import type { JsonSchema } from "../tools/json-schema/json-schema.ts";
import type { AgentRequest } from "./agent-report.ts";

/** How a conversation's loop ends, which its journal keeps. */
export const LOOP_RULES = {
  /**
   * Whether the model has one last turn without calls, to answer with what it has, if turns, tokens or its context are
   * nearly spent; true by default. The ending then has `wrappedUp`.
   */
  wrapUp: flag(),
  /** Tokens of the model's context; 200,000 by default. If it is nearly full, the history is made shorter (`compact`). */
  contextTokens: wholeNumber({ min: 1000 }),
};

const ANSWER_RULE = { answer: object<JsonSchema>() };
const KEPT_RULES = { ...SETTINGS_RULES, ...ANSWER_RULE, ...LOOP_RULES };
const NAMES = Object.keys({ ...SETTINGS_RULES, ...ANSWER_RULE });

export function modelSettings(
  options: OptionsOf<typeof SETTINGS_RULES>,
  answer?: JsonSchema,
): ModelSettings | undefined {
  const all = { ...options, ...(answer ? { answer } : {}) } as Readonly<Record<string, unknown>>;
  const chosen = NAMES.filter((name) => all[name] !== undefined);
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen.map((name) => [name, all[name]]));
}

/** The field of a header; missing if nothing was chosen. */
export function headerSettings({ settings, wrapUp, contextTokens }: KeptSettings): { readonly settings?: string } {
  const text = JSON.stringify({ ...settings, wrapUp, contextTokens });
  return text === "{}" ? {} : { settings: text };
}

type KeptSettings = Pick<AgentRequest, "settings" | "wrapUp" | "contextTokens">;

/** The settings in a header. Throws `journal_invalid`. */
export function settingsOf({ settings }: { readonly settings?: string }): KeptSettings {
  if (settings === undefined) return {};
  try {
    const { wrapUp, contextTokens, ...read } = checkOptions(fieldsOf("settings"), JSON.parse(settings), KEPT_RULES);
    return { settings: modelSettings(read, read.answer), wrapUp, contextTokens };
  } catch (cause) {
    throw new PortcullisError("journal_invalid", "The header of a conversation has settings that cannot be read.", {
      cause,
    });
  }
}
