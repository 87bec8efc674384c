import {
  checkOptions,
  type Fields,
  fieldsOf,
  flag,
  isFields,
  object,
  oneOf,
  option,
  type OptionRule,
  type OptionsOf,
  PortcullisError,
  wholeNumber,
} from "../base/index.ts";
import type { ModelSettings } from "../models/model.ts";
import { SETTINGS_RULES } from "../models/setting-rules.ts";
import { longestBeginning } from "../models/model-name.ts";
import { REUSE_OPTIONS } from "./calls/failed-programs.ts";
import type { JsonSchema } from "../tools/json-schema/json-schema.ts";

/** How a conversation's loop goes on and ends, which its journal keeps. */
export const KEPT_LOOP_RULES = {
  /**
   * Whether the model has one last turn without calls, to answer with what it has, if turns, tokens or its context are
   * nearly spent; true by default. The ending then has `wrappedUp`.
   */
  wrapUp: flag(),
  /**
   * Whether the model is told once, in the place of a user, that its turn was cut off or could not be used, that its answer
   * does not fit the schema, or that it repeats itself; true by default. Otherwise the conversation rests after such a turn.
   */
  notices: flag(),
  /** Tokens of the model's context; 200,000 by default. If it is nearly full, the history is made shorter (`compact`). */
  contextTokens: wholeNumber({ min: 1000 }),
  /**
   * Whether a program after one that did not complete goes on from what that one has done (`execute({ corrects })`):
   * `"after-failure"` (default) or `"never"`. Its equal calls are then answered as before, and not made again.
   */
  reuseResults: oneOf(REUSE_OPTIONS),
};

/** A setting, or its values by the beginning of a model's name, like `{ default: 0.7, "openai:gpt-5": 1 }`. */
export type PerModel<Value> = Value | { readonly [beginning: string]: Value };

/** What can be asked of the models of a conversation. */
export const CONVERSATION_SETTINGS = {
  ...SETTINGS_RULES,
  /**
   * How much the model reasons, and whether summaries of it are shown as `reasoning` events; also by the beginning of a
   * model's name, like `{ default: { effort: "low" }, "openai:gpt-5": { effort: "high" } }`.
   */
  reasoning: perModel(SETTINGS_RULES.reasoning),
  /** How much chance there is in what the model writes, from 0; the model's own by default. Also by the beginning of its name. */
  temperature: perModel(SETTINGS_RULES.temperature),
  /** Maximum of output tokens of one turn, in place of the model's option; also by the beginning of the model's name. */
  maxOutputTokens: perModel(SETTINGS_RULES.maxOutputTokens),
  /** Texts at which the model stops; also by the beginning of its name. */
  stop: perModel(SETTINGS_RULES.stop),
};

/** What is asked of the models of a conversation: `settingsFor` gives what is asked of one. */
export interface ConversationSettings extends OptionsOf<typeof CONVERSATION_SETTINGS> {
  readonly answer?: JsonSchema;
}

const DEFAULT = "default";

function perModel<Value>(rule: OptionRule<Value, "optional">): OptionRule<PerModel<Value>, "optional"> {
  return option<PerModel<Value>>(
    `${rule.expected}, or such values by the beginning of a model's name, like { default: …, anthropic: … }`,
    (value) => rule.accepts(value) || isByModel(value, rule),
  );
}

function isByModel(value: unknown, rule: Pick<OptionRule<unknown, "optional">, "accepts">): value is Fields {
  if (rule.accepts(value) || !isFields(value)) return false;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.every(([beginning, one]) => beginning !== "" && rule.accepts(one));
}

function byModel(settings: ConversationSettings): readonly (readonly [setting: string, values: Fields])[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const rule = Object.hasOwn(SETTINGS_RULES, name) ? SETTINGS_RULES[name as keyof typeof SETTINGS_RULES] : undefined;
    return rule && isByModel(value, rule) ? [[name, value] as const] : [];
  });
}

/** What is asked of this model: of values by the beginning of a name the value of the longest, else the default, else none. */
export function settingsFor(settings: ConversationSettings | undefined, model: string): ModelSettings | undefined {
  if (!settings) return undefined;
  const byName = byModel(settings).map(([name, values]) => {
    const beginnings = Object.keys(values).filter((key) => key !== DEFAULT);
    return [name, values[longestBeginning(beginnings, model) ?? DEFAULT]] as const;
  });
  return chosen({ ...settings, ...Object.fromEntries(byName) }, NAMES);
}

/** Throws `option_invalid` for a setting whose beginnings of names begin none of these models: one may be misspelt. */
export function refuseUnmatched(
  settings: ConversationSettings | undefined,
  models: readonly string[],
  subject: string,
): void {
  for (const [name, values] of byModel(settings ?? {})) {
    const beginnings = Object.keys(values);
    if (beginnings.includes(DEFAULT) || models.some((model) => longestBeginning(beginnings, model) !== undefined))
      continue;
    throw new PortcullisError(
      "option_invalid",
      `${subject}({ settings: { ${name} } }): none of ${beginnings.join(", ")} begins the name of a model of this conversation (${models.join(", ")}). Add one that does, or \`default\`.`,
    );
  }
}

const ANSWER_RULE = { answer: object<JsonSchema>() };
const KEPT_RULES = { ...CONVERSATION_SETTINGS, ...ANSWER_RULE, ...KEPT_LOOP_RULES };
const NAMES = Object.keys({ ...SETTINGS_RULES, ...ANSWER_RULE });

function chosen(options: object, names: readonly string[]): Fields {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined),
  );
}

export function chosenSettings(
  options: OptionsOf<typeof CONVERSATION_SETTINGS>,
  answer?: JsonSchema,
): ConversationSettings | undefined {
  const settings = chosen({ ...options, answer }, NAMES);
  return Object.keys(settings).length === 0 ? undefined : settings;
}

export function headerSettings({ settings, ...rules }: KeptSettings): string | undefined {
  const text = JSON.stringify({ ...settings, ...keptRules(rules) });
  return text === "{}" ? undefined : text;
}

export function keptRules(rules: KeptRules): KeptRules {
  return chosen(rules, Object.keys(KEPT_LOOP_RULES));
}

export type KeptRules = OptionsOf<typeof KEPT_LOOP_RULES>;

interface KeptSettings extends KeptRules {
  readonly settings?: ConversationSettings | undefined;
}

/** The settings in a header. Throws `journal_invalid`. */
export function settingsOf({ settings }: { readonly settings?: string }): KeptSettings {
  if (settings === undefined) return {};
  try {
    const read = checkOptions(fieldsOf("settings"), JSON.parse(settings), KEPT_RULES);
    return { settings: chosenSettings(read, read.answer), ...keptRules(read) };
  } catch (cause) {
    throw new PortcullisError("journal_invalid", "The header of a conversation has settings that cannot be read.", {
      cause,
    });
  }
}
