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
  /** The tools it has; all of the runtime's by default. */
  tools: TOOLS,
  /** Where its programs run: here by default, where a tool may be called by programs; else nowhere. */
  programs: PROGRAMS,
  /** Language of the programs that run here, JavaScript by default. */
  language: withDefault(LANGUAGE, "javascript"),
  /** Turns it may take; 20 by default. */
  maxTurns: MAX_TURNS,
  /**
   * Tokens it may read and write, all turns together; a million by default. A turn that is begun is finished, its own
   * and one of each agent that works for it at the time; then none begins any more.
   */
  maxTokens: MAX_TOKENS,
  /** Changes to the limits of the runtime. */
  limits: LIMITS_OPTION,
  /** Decides about calls of tools that need approval, in place of the runtime's. */
  approve: callback<Approve>(),
  /** Called with each event of the conversation. What it throws is ignored. */
  onEvent: callback<(event: AgentEvent) => void>(),
  /** The tenant that the conversation takes place for; the runtime's by default. */
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

/** Without the option, programs run here where a tool may be called by programs. */
export function programsFor(option: ProgramsOption | undefined, tools: ToolSet): ProgramsOption {
  return option ?? (tools.visibleTo(["programmatic"]).length > 0 ? "local" : "none");
}
