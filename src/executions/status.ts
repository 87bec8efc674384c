import { isResting, readOwnConversation, waitingOfConversation } from "../agent/past-conversation.ts";
import type { AgentEnding } from "../agent/ending.ts";
import { type Artifact, ArtifactSpace } from "../journal/artifact-space.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { isDriven } from "../programs/driven-here.ts";
import type { Execution } from "../programs/execute.ts";
import { limitsOf } from "../programs/limits.ts";
import { findOwn, readOwn } from "../programs/past-execution.ts";
import { shownExecution, shownWaiting } from "../programs/redact-execution.ts";
import type { Scope } from "../programs/scope.ts";
import { endedExecution, undriven } from "../programs/undriven.ts";
import { type Waiting, waitingOf } from "../programs/waiting.ts";
import type { Language } from "../../bridge/frames.ts";
import { listedExecution, type ListedExecution } from "./list-executions.ts";

/** A conversation as its journal tells of it. */
export interface ConversationStatus {
  /** Provider and model that answers now. */
  readonly model: string;
  readonly task: string;
  readonly turns: number;
  /** What its programs have kept, by name. */
  readonly artifacts: readonly Artifact[];
  /** Missing while it goes on by itself. */
  readonly ending?: AgentEnding | Waiting;
}

/** What the journal tells of an execution. `ended` has what a program has come to, or waits for. */
export interface ExecutionFacts {
  readonly listed: ListedExecution;
  readonly ended?: Execution;
  readonly conversation?: ConversationStatus;
}

/** Reads an execution of this tenant, and drives nothing. Rejects with `execution_unknown`, and as the journal does. */
export async function factsOf(scope: Scope, execution: ExecutionId): Promise<ExecutionFacts> {
  const summary = await findOwn(scope, execution);
  const listed = await listedExecution(scope.journal, summary);
  if (summary.kind === "program") {
    const ended = await programEnded(scope, execution, isDriven(scope.journal, summary));
    return ended
      ? { listed: { ...listed, state: ended.ending.type === "waiting" ? "waiting" : "ended" }, ended }
      : { listed };
  }
  return summary.kind === "conversation"
    ? { listed, conversation: await conversationStatus(scope, execution) }
    : { listed };
}

/** Undefined for a program that goes on by itself. */
async function programEnded(scope: Scope, execution: ExecutionId, driven: boolean): Promise<Execution | undefined> {
  const past = await readOwn(scope, execution);
  const { header, state } = past;
  const own: Scope = { ...scope, limits: limitsOf(header), language: header.language as Language };
  if (past.outcome) return shownExecution(await endedExecution(execution, past, own), own);
  // One that cannot be replayed waits where it is driven. Without its driver it does not go on.
  const waiting = state.unreplayable === undefined || driven ? waitingOf(state) : undefined;
  return waiting && shownExecution(undriven(own, execution, past, waiting), own);
}

async function conversationStatus(scope: Scope, execution: ExecutionId): Promise<ConversationStatus> {
  const past = await readOwnConversation(scope, execution);
  const { parseEnding } = await import("../agent/parse-message.ts");
  const artifacts = new ArtifactSpace(scope.journal, execution, past.artifacts).all;
  const about = { model: past.model, task: past.header.task, turns: past.turns.length, artifacts };
  if (past.outcome) return { ...about, ending: parseEnding(execution, past.outcome.outcome) };
  const rested = isResting(past) ? past.rest?.ending : undefined;
  if (rested !== undefined) return { ...about, ending: parseEnding(execution, rested) };
  const waiting = waitingOfConversation(past);
  return waiting ? { ...about, ending: await shownWaiting(waiting, scope.redactor) } : about;
}
