import type { Approve } from "../gate/approval.ts";
import type { Model } from "../models/model.ts";
import {
  abortSignal,
  callback,
  oneOf,
  option,
  type OptionsOf,
  required,
  wholeNumber,
  withDefault,
  words,
} from "../options/options.ts";
import { LANGUAGE, TENANT } from "../programs/execute-options.ts";
import { LIMITS_OPTION } from "../programs/limits.ts";
import { TOOLS, type ToolSet } from "../tools/tool-set.ts";
import type { AgentEvent } from "./event.ts";
import { type ProgramsOption, PROGRAMS_OPTIONS } from "./transcript.ts";

export const MODEL = required(option<Model>("a model, like anthropic({ model: … })", isModel));
export const PROGRAMS = oneOf(PROGRAMS_OPTIONS);
export const MAX_TURNS = wholeNumber({ min: 1, max: 10_000, default: 20 });
export const MAX_TOKENS = wholeNumber({ min: 1, default: 1_000_000 });

export const AGENT_RULES = {
  /** The model that works on the task. */
  model: MODEL,
  /** What the model is asked to do. */
  task: required(words()),
  /** The tools of the conversation; all tools of the runtime by default. */
  tools: TOOLS,
  /** Where programs run: `local` by default if a tool allows programs as callers, else `none`. */
  programs: PROGRAMS,
  /** Language of local programs; JavaScript by default. */
  language: withDefault(LANGUAGE, "javascript"),
  /** Maximum of turns; 20 by default. */
  maxTurns: MAX_TURNS,
  /**
   * Maximum of input and output tokens, all turns together; a million by default. A turn that has started is finished,
   * also one of each agent that is working for the conversation; then no further turn starts.
   */
  maxTokens: MAX_TOKENS,
  /** Changes to the limits of the runtime. */
  limits: LIMITS_OPTION,
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  approve: callback<Approve>(),
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent: callback<(event: AgentEvent) => void>(),
  /** Tenant of the conversation; the runtime's by default. */
  tenant: TENANT,
  /** Cancels the conversation. */
  signal: abortSignal(),
};

export type AgentOptions = OptionsOf<typeof AGENT_RULES>;

function isModel(value: unknown): value is Model {
  if (typeof value !== "object" || value === null) return false;
  const { name, converse } = value as Partial<Model>;
  return typeof name === "string" && typeof converse === "function";
}

/** The default is `local` if there is a tool that programs may call. */
export function programsFor(option: ProgramsOption | undefined, tools: ToolSet): ProgramsOption {
  return option ?? (tools.visibleTo(["programmatic"]).length > 0 ? "local" : "none");
}
