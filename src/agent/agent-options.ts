import { optionError } from "../errors.ts";
import type { Approve } from "../gate/approval.ts";
import type { Model } from "../models/model.ts";
import type { Limits } from "../programs/limits.ts";
import type { ProgramLanguage } from "../tools/declarations.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { AgentEvent } from "./event.ts";
import { type ProgramsOption, PROGRAMS_OPTIONS } from "./transcript.ts";

export interface AgentOptions {
  readonly model: Model;
  readonly task: string;
  /** The tools of the conversation; all tools of the runtime by default. */
  readonly tools?: readonly Tool[];
  /** Where programs run: `local` by default if a tool allows programs as callers, else `none`. */
  readonly programs?: ProgramsOption;
  /** Language of local programs. */
  readonly language?: ProgramLanguage;
  /** Maximum of turns; 20 by default. */
  readonly maxTurns?: number;
  /**
   * Maximum of input and output tokens, all turns together; a million by default. A turn that has started is finished,
   * also one of each agent that is working for the conversation; then no further turn starts.
   */
  readonly maxTokens?: number;
  readonly limits?: Partial<Limits>;
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  readonly approve?: Approve;
  /** Called with each event as it happens. Errors that it throws are ignored. */
  readonly onEvent?: (event: AgentEvent) => void;
  readonly tenant?: string;
  /** Cancels the conversation. */
  readonly signal?: AbortSignal;
}

export const AGENT_OPTIONS: readonly (keyof AgentOptions)[] = [
  "model",
  "task",
  "tools",
  "programs",
  "language",
  "maxTurns",
  "maxTokens",
  "limits",
  "approve",
  "onEvent",
  "tenant",
  "signal",
];

/** Largest value of `maxTurns`. */
export const MAX_TURNS = 10_000;
export const DEFAULT_TURNS = 20;
export const DEFAULT_TOKENS = 1_000_000;

/** Throws `option_invalid` for an invalid option. */
export function checkAgentOptions({
  model,
  task,
  programs,
  maxTurns,
  maxTokens,
  approve,
  onEvent,
}: AgentOptions): void {
  if (!isModel(model)) throw optionError("model", "a model, like anthropic({ model: … })", model);
  if (typeof task !== "string" || task.trim() === "") throw optionError("task", "a text", task);
  checkPrograms("programs", programs);
  checkCount("maxTurns", maxTurns, MAX_TURNS);
  checkCount("maxTokens", maxTokens, Number.MAX_SAFE_INTEGER);
  if (approve !== undefined && typeof approve !== "function") throw optionError("approve", "a function", approve);
  if (onEvent !== undefined && typeof onEvent !== "function") throw optionError("onEvent", "a function", onEvent);
}

export function isModel(value: unknown): value is Model {
  if (typeof value !== "object" || value === null) return false;
  const { name, converse } = value as Partial<Model>;
  return typeof name === "string" && typeof converse === "function";
}

export function checkCount(option: string, value: unknown, max: number): void {
  if (value === undefined) return;
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > max)
    throw optionError(option, `a whole number from 1 to ${max}`, value);
}

export function checkPrograms(option: string, value: ProgramsOption | undefined): void {
  if (value !== undefined && !PROGRAMS_OPTIONS.includes(value))
    throw optionError(option, PROGRAMS_OPTIONS.map((known) => `"${known}"`).join(", "), value);
}

/** The default is `local` if there is a tool that programs may call. */
export function programsFor(option: ProgramsOption | undefined, tools: ToolSet): ProgramsOption {
  return option ?? (tools.visibleTo(["programmatic"]).length > 0 ? "local" : "none");
}
