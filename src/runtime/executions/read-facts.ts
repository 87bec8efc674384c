import {
  type ConversationStanding,
  openEnding,
  standingOfConversation,
} from "../../conversations/from-journal/conversation-standing.ts";
import { type PastConversation, readOwnConversation } from "../../conversations/from-journal/past-conversation.ts";
import { copiedTurns, userMessages } from "../../conversations/from-journal/conversation-state.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import type { ExecutionId } from "../../base/index.ts";
import type { ExecutionSummary } from "../../journal/journal.ts";
import { NO_ITEMS, readRecords } from "../../journal/reading/read-records.ts";
import { isDriven } from "../../executions/driven.ts";
import type { Execution } from "../../executions/execution.ts";
import { limitsOf } from "../../executions/limits.ts";
import { findOwn, headerOf, readPast } from "../../executions/from-journal/past-execution.ts";
import type { Scope } from "../../executions/scope.ts";
import { standingOf } from "../../executions/from-journal/standing.ts";
import { endedExecution, waitingExecution } from "../../executions/from-journal/recorded-execution.ts";
import type { Language } from "../../../bridge/frames.ts";
import { listExecution, listRead, openConversation, openProgram } from "./list-executions.ts";
import type { ConversationStatus } from "./conversation-status.ts";
import type { ListedExecution } from "./listed-execution.ts";

/** What the journal tells of an execution. `ended` is a program that has ended or waits. */
export interface ExecutionFacts {
  readonly listed: ListedExecution;
  readonly ended?: Execution;
  readonly conversation?: ConversationStatus;
}

/** Reads an execution of this tenant, and drives nothing. Rejects with `execution_unknown`, and as the journal does. */
export async function readFacts(scope: Scope, execution: ExecutionId): Promise<ExecutionFacts> {
  const summary = await findOwn(scope, execution);
  if (summary.kind === "conversation") return conversationFacts(scope, summary);
  if (summary.kind === "call") return { listed: await listExecution(scope.journal, summary) };
  const past = await readPast(readRecords(scope.journal, execution, { tenant: scope.tenant, ...NO_ITEMS }));
  const { state, outcome } = past;
  const header = headerOf(state, execution);
  const standing = standingOf(state, isDriven(scope.journal, summary));
  const listed = await listRead(scope.journal, summary, { records: state.records, outcome }, () =>
    openProgram(state, standing, scope.tenant),
  );
  const own: Scope = { ...scope, limits: limitsOf(header), language: header.language as Language };
  // Undefined for a program that goes on by itself.
  const ended = await (outcome ? endedExecution(own, past) : waitingExecution(own, past, standing));
  return { listed, ended };
}

/** All facts come from the same reading: between two readings a conversation may end. */
async function conversationFacts(scope: Scope, summary: ExecutionSummary): Promise<ExecutionFacts> {
  const past = await readOwnConversation(scope, summary.execution);
  const standing = standingOfConversation(past);
  const listed = await listRead(scope.journal, summary, past, () => openConversation(past, standing, scope.tenant));
  return { listed, conversation: await conversationStatus(scope, past, standing) };
}

async function conversationStatus(
  scope: Scope,
  past: PastConversation,
  standing: ConversationStanding,
): Promise<ConversationStatus> {
  const { execution, task } = past.header;
  const { parseEnding } = await import("../../conversations/from-journal/parse-message.ts");
  const artifacts = new ArtifactSpace(scope.journal, execution, past.artifacts).all;
  const { answering, turns, state, use } = past;
  const about = {
    model: answering.model,
    task,
    turns: turns.length,
    said: userMessages(state).length,
    usage: { ...past.usage, turns: turns.length - copiedTurns(state), calls: use.lines.length },
    calls: use.lines,
    artifacts,
  };
  if (past.outcome) return { ...about, ending: parseEnding(execution, past.outcome.outcome) };
  return { ...about, ending: await openEnding(past, standing, scope.redactor) };
}
