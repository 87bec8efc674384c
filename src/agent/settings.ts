import { PortcullisError } from "../errors.ts";
import type { ModelSettings, Reasoning, ToolChoice } from "../models/model.ts";
import {
  checkOptions,
  fieldsOf,
  flag,
  object,
  oneOf,
  option,
  type OptionsOf,
  wholeNumber,
} from "../options/options.ts";
import type { JsonSchema } from "../tools/schema.ts";
import type { AgentRequest } from "./agent-report.ts";

/** What a developer may choose of how a model is asked. */
export const MODEL_RULES = {
  /**
   * Whether the model may make calls (`"auto"`, default), must make none (`"none"`) or one (`"required"`, or `{ tool }` for
   * this one). A forced choice holds until the first call after a message of the user.
   */
  toolChoice: option<ToolChoice>(`"auto", "none", "required" or { tool: "name" }`, isToolChoice),
  /** Whether the model may make several calls in one turn; true by default. */
  parallelCalls: flag(),
  /** How much the model reasons, and whether summaries of it are shown as `reasoning` events. */
  reasoning: option<Reasoning>('{ effort: "low", "medium" or "high", summary: true or false }', isReasoning),
  /** The model's own by default. */
  temperature: option<number>("a number from 0 to 2", isTemperature),
  /** Maximum of output tokens of one turn, in place of the model's option. */
  maxOutputTokens: wholeNumber({ min: 1 }),
  /** Texts at which the model stops. */
  stop: option<readonly string[]>("an array of non-empty strings", isListOfText),
};

/** How a conversation's loop ends, which its journal keeps. */
export const LOOP_RULES = {
  /**
   * Whether the model has one last turn without calls, to answer with what it has, where turns, tokens or its context are
   * nearly spent; true by default. The ending then has `wrappedUp`.
   */
  wrapUp: flag(),
  /** Tokens of the model's context; 200,000 by default. Where it is nearly full the history is made shorter (`compact`). */
  contextTokens: wholeNumber({ min: 1000 }),
};

const ANSWER_RULE = { answer: object<JsonSchema>() };
const KEPT_RULES = { ...MODEL_RULES, ...ANSWER_RULE, ...LOOP_RULES };
const NAMES = Object.keys({ ...MODEL_RULES, ...ANSWER_RULE });

/** The settings among these options; undefined where none was chosen. */
export function modelSettings(options: OptionsOf<typeof MODEL_RULES>, answer?: JsonSchema): ModelSettings | undefined {
  const all = { ...options, ...(answer ? { answer } : {}) } as Readonly<Record<string, unknown>>;
  const chosen = NAMES.filter((name) => all[name] !== undefined);
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen.map((name) => [name, all[name]]));
}

/** The field of a header; none where nothing was chosen. */
export function headerSettings({ settings, wrapUp, contextTokens }: Pick<AgentRequest, keyof KeptSettings>): {
  readonly settings?: string;
} {
  const text = JSON.stringify({ ...settings, wrapUp, contextTokens });
  return text === "{}" ? {} : { settings: text };
}

type KeptSettings = Pick<AgentRequest, "settings" | "wrapUp" | "contextTokens">;

/** What a header says. Throws `journal_invalid`. */
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

function isToolChoice(value: unknown): boolean {
  if (typeof value === "string") return value === "auto" || value === "none" || value === "required";
  return isRecord(value) && Object.keys(value).length === 1 && typeof value.tool === "string" && value.tool !== "";
}

function isReasoning(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { effort, summary, ...others } = value;
  const isEffort = effort === undefined || oneOf(["low", "medium", "high"]).accepts(effort);
  return isEffort && (summary === undefined || typeof summary === "boolean") && Object.keys(others).length === 0;
}

function isTemperature(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 2;
}

function isListOfText(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string" && one !== "");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
