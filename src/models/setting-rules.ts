import { flag, isFields, option, wholeNumber } from "../base/index.ts";
import { HOSTED_TOOLS } from "./hosted-tools.ts";

/** `none`: no call. `required`: at least one. `tool`: a call of this tool, or of `run_program`. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

export interface Reasoning {
  readonly effort?: "low" | "medium" | "high";
  /** Whether summaries of the model's reasoning are shown to listeners. */
  readonly summary?: boolean;
}

const EFFORTS: readonly unknown[] = ["low", "medium", "high"] satisfies Required<Reasoning>["effort"][];
const MAX_STOPS = 16;
const STOP_LENGTH = 100;

/** What can be asked of a model, as options of a conversation. A provider may take less. */
export const SETTINGS_RULES = {
  /**
   * Whether the model may make calls (`"auto"`, default), must make none (`"none"`) or one (`"required"`, or `{ tool }`
   * for a call of this tool, `run_program` too). A forced choice holds until the first call after a message of the
   * user.
   */
  toolChoice: option<ToolChoice>(`"auto", "none", "required" or { tool: "name" }`, isToolChoice),
  /** Whether the model may make several calls in one turn; true by default. */
  parallelCalls: flag(),
  /** How much the model reasons, and whether summaries of it are shown as `reasoning` events. */
  reasoning: option<Reasoning>('{ effort: "low", "medium" or "high", summary: true or false }', isReasoning),
  /** How much chance there is in what the model writes, from 0; the model's own by default. */
  temperature: option<number>("a number from 0 to 2", (value) => typeof value === "number" && value >= 0 && value <= 2),
  /** Maximum of output tokens of one turn, in place of the model's option. */
  maxOutputTokens: wholeNumber({ min: 1, max: 10_000_000 }),
  /** Texts at which the model stops. */
  stop: option<readonly string[]>(`an array of 1 to ${MAX_STOPS} texts of 1 to ${STOP_LENGTH} characters`, isStops),
  /** Tools that the provider runs itself: `[webSearch()]`. What they give is told as data from outside, and passes no gate. */
  hostedTools: HOSTED_TOOLS,
};

function isToolChoice(value: unknown): boolean {
  if (value === "auto" || value === "none" || value === "required") return true;
  return isFields(value) && Object.keys(value).join() === "tool" && typeof value.tool === "string" && value.tool !== "";
}

function isReasoning(value: unknown): boolean {
  if (!isFields(value) || !Object.keys(value).every((name) => name === "effort" || name === "summary")) return false;
  const { effort, summary } = value;
  return (effort === undefined || EFFORTS.includes(effort)) && (summary === undefined || typeof summary === "boolean");
}

function isStops(value: unknown): boolean {
  const isStop = (one: unknown) => typeof one === "string" && one.trim() !== "" && one.length <= STOP_LENGTH;
  return Array.isArray(value) && value.length > 0 && value.length <= MAX_STOPS && value.every(isStop);
}
