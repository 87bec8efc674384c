import type { CallLine } from "../gate/call-line.ts";
import type { ExecutionId } from "../base/index.ts";
import type { Model, ModelUsage } from "../models/model.ts";
import type { ArtifactSpace } from "../journal/artifact-space.ts";
import { type ReportArtifact, reportArtifacts } from "../executions/output/artifacts.ts";
import type { ResultSchema } from "../executions/drive/ending/result-schema.ts";
import type { ConversationSettings, KeptRules } from "./conversation-settings.ts";
import type { CompactRules } from "./prompt/compact.ts";
import type { AgentEnding } from "./event.ts";
import {
  copiedTurns,
  type KnownState,
  type AgentUsage,
  type Transcript,
  type TranscriptTurn,
  transcriptTurns,
} from "./from-journal/conversation-state.ts";
import { type ProgramsOption, programsOf } from "./prompt/programs-option.ts";

export interface AgentRequest extends LoopRules {
  readonly model: Model;
  readonly programs: ProgramsOption;
  readonly maxTurns: number;
  readonly maxTokens: number;
  /** The developer's system text; missing if there is none. */
  readonly instructions?: string | undefined;
  readonly settings?: ConversationSettings | undefined;
}

/** What a developer decides about a conversation while it runs. None of it is in the journal. */
export interface LoopRules extends KeptRules, Pick<CompactRules, "compact"> {
  /** Models that take the model's place, one after the other, if it fails for good. */
  readonly fallbacks?: readonly Model[] | undefined;
  readonly stopWhen?: StopWhen | undefined;
  readonly answer?: ResultSchema | undefined;
  /** What a model that takes over is told, by its name. */
  readonly instructionsFor?: ((model: string) => string | undefined) | undefined;
}

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
  /** Undefined unless the ending is `answered`. The model's text, or its value if there is a schema. */
  readonly answer: Answer | undefined;
  /**
   * All calls of tools that have ended: the model's own calls, and calls of its programs and of agents that it called. The
   * id of a call that a local program or an agent made begins with the id of the call that started it, like `call_2/17`.
   */
  readonly calls: readonly CallLine[];
  readonly usage: AgentUsage;
  /** Values that programs have kept under names, and results that were too large for the model. */
  readonly artifacts: readonly ReportArtifact[];
  readonly transcript: Transcript;
}

export interface ReportFacts {
  readonly ending: AgentEnding;
  readonly value: unknown;
  readonly lines: readonly CallLine[];
  readonly usage: ModelUsage;
  readonly artifacts: ArtifactSpace;
}

/** The report of a conversation in this state. Throws `journal_invalid` for a header that no conversation has. */
export function agentReport<Answer = string>(
  state: KnownState,
  { ending, value, lines, usage, artifacts }: ReportFacts,
): AgentReport<Answer> {
  const { header, turns, said } = state;
  const own = turns.slice(copiedTurns(state));
  const hosted = own.flatMap(({ turn }) => turn.hosted.filter(({ type }) => type === "hosted_call_started"));
  const reused = lines.filter(({ from }) => from).length;
  return {
    execution: header.execution,
    ending,
    answer: (ending.type === "answered" ? (value === undefined ? ending.answer : value) : undefined) as
      | Answer
      | undefined,
    calls: lines,
    usage: {
      ...usage,
      turns: own.length,
      calls: lines.length,
      hostedCalls: hosted.length || undefined,
      reused: reused || undefined,
    },
    artifacts: reportArtifacts(artifacts),
    transcript: {
      format: 1,
      model: state.answering.model,
      task: header.task,
      programs: programsOf(header.programs),
      tools: state.tools.map(({ name }) => name),
      turns: transcriptTurns(turns),
      said: said.length > 0 ? [...said] : undefined,
      ending,
    },
  };
}
