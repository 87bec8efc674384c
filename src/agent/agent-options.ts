import type { Model } from "../models/model.ts";
import {
  abortSignal,
  array,
  callback,
  flag,
  oneOf,
  option,
  type OptionsOf,
  required,
  wholeNumber,
  withDefault,
  words,
} from "../options/options.ts";
import { APPROVE, CONTEXT, EXECUTION, LANGUAGE, TENANT, type WithContext } from "../programs/execute-options.ts";
import { LIMITS_OPTION } from "../programs/limits.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
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
  /**
   * Id of the conversation, chosen by the caller. The same id again gives the same conversation: it joins the running
   * one, takes up one whose host died, or gives its report, and never begins a second one.
   */
  execution: EXECUTION,
  /** The tools of the conversation: tools, or names of the runtime's, like `"crm.find"` or `"crm.*"`. All of the runtime's by default. */
  tools: array<Tool | string>("an array of tools made by defineTool, or of names of the runtime's tools"),
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
  approve: APPROVE,
  /** Holds the source of each program for a decision of `approve` before it starts; as the runtime does by default. */
  approvePrograms: flag(),
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent: callback<(event: AgentEvent) => void>(),
  /** Tenant of the conversation; the runtime's by default. */
  tenant: TENANT,
  /** The host's own value, like the user of a request. Handlers and `approve` get it; a program and a model do not. */
  context: CONTEXT,
  /** Cancels the conversation. */
  signal: abortSignal(),
};

export type AgentOptions<Context = unknown> = Omit<WithContext<OptionsOf<typeof AGENT_RULES>, Context>, "tools"> & {
  /** The tools of the conversation: tools, or names of the runtime's, like `"crm.find"` or `"crm.*"`. All of the runtime's by default. */
  readonly tools?: readonly (Tool<Context> | string)[];
};

export function isModel(value: unknown): value is Model {
  if (typeof value !== "object" || value === null) return false;
  const { name, converse } = value as Partial<Model>;
  return typeof name === "string" && typeof converse === "function";
}

/** The default is `local` if there is a tool that programs may call. */
export function programsFor(option: ProgramsOption | undefined, tools: ToolSet): ProgramsOption {
  return option ?? (tools.visibleTo(["programmatic"]).length > 0 ? "local" : "none");
}
