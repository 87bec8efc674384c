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
  /** The tools it has; all of the runtime's by default. */
  readonly tools?: readonly Tool[];
  /** Where its programs run: here by default, where a tool may be called by programs; else nowhere. */
  readonly programs?: ProgramsOption;
  /** Of the programs that run here. */
  readonly language?: ProgramLanguage;
  /** Turns it may take; 20 by default. */
  readonly maxTurns?: number;
  /**
   * Tokens it may read and write, all turns together; a million by default. A turn that is begun is finished, its own
   * and one of each agent that works for it at the time; then none begins any more.
   */
  readonly maxTokens?: number;
  readonly limits?: Partial<Limits>;
  /** Decides about calls of tools that need approval, in place of the runtime's. */
  readonly approve?: Approve;
  /** Told what happens as it happens. What it throws is ignored. */
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

/** Most turns that a conversation may be given. */
export const MAX_TURNS = 10_000;
export const DEFAULT_TURNS = 20;
export const DEFAULT_TOKENS = 1_000_000;

/** Throws `option_invalid` for an option that cannot be what it is. */
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

export function checkCount(option: string, value: unknown, most: number): void {
  if (value === undefined) return;
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > most)
    throw optionError(option, `a whole number from 1 to ${most}`, value);
}

export function checkPrograms(option: string, value: ProgramsOption | undefined): void {
  if (value !== undefined && !PROGRAMS_OPTIONS.includes(value))
    throw optionError(option, PROGRAMS_OPTIONS.map((known) => `"${known}"`).join(", "), value);
}

/** Programs run here where that is of use, unless somebody has said otherwise. */
export function programsFor(option: ProgramsOption | undefined, tools: ToolSet): ProgramsOption {
  return option ?? (tools.visibleTo(["programmatic"]).length > 0 ? "local" : "none");
}
