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

const KEPT_RULES = { ...MODEL_RULES, answer: object<JsonSchema>() };

/** The settings among these options; undefined where none was chosen. */
export function modelSettings(options: OptionsOf<typeof MODEL_RULES>, answer?: JsonSchema): ModelSettings | undefined {
  const all = { ...options, ...(answer ? { answer } : {}) } as Readonly<Record<string, unknown>>;
  const chosen = Object.keys(KEPT_RULES).filter((name) => all[name] !== undefined);
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen.map((name) => [name, all[name]]));
}

/** The field of a header; none where nothing was chosen. */
export function headerSettings({ settings }: Pick<AgentRequest, "settings">): { readonly settings?: string } {
  return settings === undefined ? {} : { settings: JSON.stringify(settings) };
}

/** What a header says. Throws `journal_invalid`. */
export function settingsOf({ settings }: { readonly settings?: string }): ModelSettings | undefined {
  if (settings === undefined) return undefined;
  try {
    return checkOptions(fieldsOf("settings"), JSON.parse(settings), KEPT_RULES);
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
