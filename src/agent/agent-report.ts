import type { CallLine } from "../gate/call-line.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Model, ModelSettings, ModelUsage } from "../models/model.ts";
import type { ReportArtifact } from "../output/artifacts.ts";
import type { AnswerSchema } from "./answer-schema.ts";
import type { Compact } from "./compact.ts";
import type { AgentEnding } from "./ending.ts";
import type { SaidMessage } from "./said.ts";
import type { AgentUsage, ProgramsOption, Transcript, TranscriptTurn } from "./transcript.ts";

/** A conversation to hold, checked. */
export interface AgentRequest extends LoopRules {
  readonly model: Model;
  readonly programs: ProgramsOption;
  readonly maxTurns: number;
  readonly maxTokens: number;
  /** System text of the developer's; missing where there is none. */
  readonly instructions?: string | undefined;
  readonly settings?: ModelSettings | undefined;
}

/** What a developer decides about a conversation while it runs. None of it is in the journal. */
export interface LoopRules {
  /** Models that take its place, one after the other, where it fails for good. */
  readonly fallbacks?: readonly Model[] | undefined;
  readonly stopWhen?: StopWhen | undefined;
  readonly compact?: Compact | undefined;
  readonly contextTokens?: number | undefined;
  readonly wrapUp?: boolean | undefined;
  readonly answer?: AnswerSchema | undefined;
  /** What a model that takes over is told, by its name. */
  readonly instructionsFor?: ((model: string) => string | undefined) | undefined;
}

/** What is known of a conversation after the calls of a turn. */
export interface StopState {
  readonly execution: ExecutionId;
  readonly turns: readonly TranscriptTurn[];
  readonly usage: ModelUsage;
}

export type StopWhen = (state: StopState) => boolean | Promise<boolean>;

/** A conversation that has ended, or that waits. */
export interface AgentReport<Answer = string> {
  /** Id of the conversation in the journal. */
  readonly execution: ExecutionId;
  readonly ending: AgentEnding;
  /** Undefined unless the ending is `answered`. The model's text, or its value where there is a schema. */
  readonly answer: Answer | undefined;
  /**
   * All calls: the model's own, and those of its programs and of agents that it called. The id of a call that a local
   * program or an agent made begins with the id of the call that started it, like `call_2/17`.
   */
  readonly calls: readonly CallLine[];
  readonly usage: AgentUsage;
  /** Values that programs have kept under names, and results that were too large for the model. */
  readonly artifacts: readonly ReportArtifact[];
  readonly transcript: Transcript;
}

/** What has become of a conversation, for its report. */
export interface AgentFacts {
  readonly execution: ExecutionId;
  readonly ending: AgentEnding;
  /** The value of the answer, where it has a schema. */
  readonly value?: unknown;
  readonly task: string;
  readonly turns: readonly TranscriptTurn[];
  /** Said after the last turn. */
  readonly said: readonly SaidMessage[];
  /** Number of turns that were copied from a conversation that this one continues. */
  readonly copied: number;
  /** Names of its tools. */
  readonly tools: readonly string[];
  readonly lines: readonly CallLine[];
  /** Number of calls, with those below it. */
  readonly calls: number;
  readonly usage: ModelUsage;
  readonly artifacts: readonly ReportArtifact[];
}

/** The report of a conversation. */
export function agentReport<Answer = string>(
  { model, programs }: Pick<AgentRequest, "programs"> & { readonly model: Pick<Model, "name"> },
  { execution, ending, value, task, turns, said, copied, tools, lines, calls, usage, artifacts }: AgentFacts,
): AgentReport<Answer> {
  return {
    execution,
    ending,
    answer: (ending.type === "answered" ? (value === undefined ? ending.answer : value) : undefined) as
      | Answer
      | undefined,
    calls: lines,
    usage: { ...usage, turns: turns.length - copied, calls },
    artifacts,
    transcript: {
      format: 1,
      model: model.name,
      task,
      programs,
      tools,
      turns,
      ...(said.length > 0 ? { said } : {}),
      ending,
    },
  };
}
