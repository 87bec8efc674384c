/*
 * Takes up a conversation that waits, or whose host died. Its id comes in, with the caller's decisions and results; it
 * is read from the journal, claimed and driven on, and its report goes out.
 */
import { randomUUID } from "node:crypto";
import { type ExecutionId, now, optionError, PortcullisError, type Share } from "../base/index.ts";
import { ArtifactSpace } from "../journal/artifact-space.ts";
import type { Model } from "../models/model.ts";
import { drivenHere, executionDriven, refuseDriven } from "../executions/driven.ts";
import { runUnderId } from "../executions/run-under-id.ts";
import { drivenScope } from "../executions/authority.ts";
import { begunIn, traceOf } from "../executions/observers.ts";
import { changedTools, refuseChangedTools } from "../executions/from-journal/changed-since.ts";
import { refuseOfAnother, type ResumeWork } from "../executions/resume.ts";
import { beginConversation } from "./agent.ts";
import type { ResultSchema } from "../executions/drive/ending/result-schema.ts";
import { checkAnswer, recordedSchema } from "./prompt/answer-schema.ts";
import { type AgentReport, agentReport, type AgentRequest, type LoopRules } from "./agent-report.ts";
import { driveConversation } from "./drive/drive-conversation.ts";
import { restoreConversation } from "./from-journal/restore-conversation.ts";
import { ConversationLog, withHistory } from "./drive/conversation-log.ts";
import { hasOpenTurn, isHeld } from "./from-journal/conversation-state.ts";
import { LiveConversation } from "./drive/live-conversation.ts";
import type { AgentScope } from "./agent-scope.ts";
import {
  decideConversation,
  noteInPrograms,
  recordsOfConversation,
  refuseWrongResultsOf,
} from "./decide-conversation.ts";
import type { AgentEnding } from "./event.ts";
import { openingFor } from "./prompt/opening.ts";
import {
  cancelPrograms,
  type PastConversation,
  readOwnConversation,
  endingOf,
  standingOfConversation,
} from "./from-journal/past-conversation.ts";
import { settingsOf } from "./conversation-settings.ts";
import { programsOf } from "./prompt/programs-option.ts";

export interface ResumeAgentWork
  extends Omit<ResumeWork, "result">, Pick<LoopRules, "fallbacks" | "stopWhen" | "compact" | "answer"> {
  readonly model: Model;
  readonly subject?: string;
  /** Whether it goes on after an ending, even if it began with a task. */
  readonly rests?: boolean;
}

/**
 * Takes a conversation up where its journal ends, and drives it to its ending, or until it waits. A conversation that
 * has ended, or that only waits, is reported without being driven. No recorded turn is asked for again. Rejects with
 * `execution_unknown`, also for another tenant's conversation, `option_invalid` for another model, `execution_driven`,
 * `tools_changed`, `call_unknown`, `decision_exists`, `journal_invalid`, and as the journal does.
 */
export function resumeAgent<Answer = string>(
  scope: AgentScope,
  execution: ExecutionId,
  work: ResumeAgentWork,
): Promise<AgentReport<Answer>> {
  return withHistory(scope, async (history) =>
    resumePast<Answer>(scope, await readOwnConversation(scope, execution, history), work, history),
  );
}

/** Like `resumeAgent`, for a conversation whose text `history` holds. */
export async function resumePast<Answer>(
  scope: AgentScope,
  past: PastConversation,
  work: ResumeAgentWork,
  history: Share,
): Promise<AgentReport<Answer>> {
  const { header, outcome } = past;
  const { execution } = header;
  if (!outcome) {
    refuseOfAnother(scope, execution, header);
    await recordsOfConversation(past, work);
  }
  const isSaid = Object.keys({ ...work.decisions, ...work.results }).length > 0;
  const standing = standingOfConversation(past);
  const ending = await endingOf(past, scope.redactor, standing);
  const rests = standing.state === "waiting" && standing.rests;
  if (ending && (outcome || rests || (!isSaid && !work.asks)))
    return undrivenReport<Answer>(scope, past, ending, work.answer);
  await refuseWrongResultsOf(past, work, scope.gate.tools);
  const here = drivenHere<AgentReport<Answer>>(scope.journal, execution);
  if (here && work.joins === false) throw executionDriven(execution, "by this process");
  if (here) {
    if (isSaid) await decideConversation(scope, execution, work);
    // What it holds is held by its driver.
    history.end();
    return here.ended;
  }
  return driveConversation<Answer>(await takeUp(scope, past, work, history), { staysOpen: work.rests });
}

/**
 * Takes over an open conversation, whose text `history` holds, and brings a model to where it is. Rejects with `option_invalid` for another model,
 * `execution_driven`, `tools_changed`, `journal_invalid`, and as the journal does.
 */
export async function takeUp(
  scope: AgentScope,
  past: PastConversation,
  work: ResumeAgentWork,
  history: Share,
): Promise<LiveConversation> {
  const { allowChangedTools, asks, subject = "resume" } = work;
  const { header } = past;
  const { execution } = header;
  const model = modelFor(past, work, subject);
  if (!allowChangedTools) refuseChangedTools(changedTools(scope.hostTools ?? scope.gate.tools, past));
  if (!scope.above) await refuseDriven(scope.journal, execution);

  const own = {
    ...drivenScope(scope, header, past.tools),
    approvePrograms: scope.approvePrograms || header.approvePrograms === true,
  };
  const { maxTurns, maxTokens } = header;
  const { instructions } = past.answering;
  const kept = settingsOf(header);
  const { fallbacks, stopWhen, compact, answer = recordedSchema(kept.settings?.answer) } = work;
  const rules = { fallbacks, stopWhen, compact, answer, ...kept };
  const request = { model, programs: programsOf(header.programs), maxTurns, maxTokens, instructions, ...rules };
  const opening = openingFor(model, own, request, subject);
  const conversation = await restoreConversation(model, opening, past.state, hasOpenTurn(past.state));

  const records = await recordsOfConversation(past, work);
  await noteInPrograms(scope, execution, work);
  const rests = work.rests ?? isHeld(header);
  const about = {
    execution,
    model: past.answering.model,
    tenant: own.tenant,
    before: [header.trace, past.drivers.trace],
  };
  const span = rests ? undefined : own.telemetry?.beginConversation(about);
  const trace = traceOf(span ?? { traceparent: own.telemetry?.here });
  const driver = { driver: randomUUID(), leaseMs: own.leaseMs, ...trace };
  const log = await begunIn(span, () => ConversationLog.claim(own.journal, past.state, driver, records, history));
  const use = { ...past.use, remembered: log.state.remembered };
  const live = new LiveConversation(
    { scope: own, log, request, opening, conversation, rests, allowChangedTools, asks, span },
    { ...past, use },
  );
  live.tellTools();
  return live;
}

/** The model that answers in a conversation, of those that are given. Throws `option_invalid`, and `journal_redacted`. */
function modelFor(
  { header: { execution }, answering, isRedacted }: PastConversation,
  { model: mainModel, fallbacks = [] }: ResumeAgentWork,
  subject: string,
): Model {
  if (isRedacted)
    throw new PortcullisError(
      "journal_redacted",
      `The journal of conversation ${JSON.stringify(execution)} was redacted and does not hold what happened, so the conversation cannot be resumed. Begin a new one.`,
    );
  const model = [mainModel, ...fallbacks].find(({ name }) => name === answering.model);
  if (model) return model;
  throw optionError(`${subject}({ model })`, `${answering.model}, which the conversation has`, mainModel.name);
}

/** Ends the conversation of an agent whose caller has ended without it, as cancelled, and its programs with it. Nothing of it runs. */
export async function cancelConversation(scope: AgentScope, past: PastConversation): Promise<AgentReport> {
  const ending = { type: "cancelled" } as const;
  const outcome = { type: "outcome", outcome: JSON.stringify(ending), at: now() } as const;
  const { journal, leaseMs } = scope;
  const log = await ConversationLog.claim(journal, past.state, { driver: randomUUID(), leaseMs }, [outcome]);
  await log.end(true);
  await cancelPrograms(scope, past);
  return undrivenReport(scope, past, ending);
}

/**
 * Runs a conversation until it ends or waits. Every failure of the model or its provider is an ending. Rejects for
 * requests that the model does not support, and if the journal cannot be written or the sandbox has no guest.
 *
 * The same id again, chosen by the caller, joins the running conversation, goes on with it if its host died, or gives its
 * report if it has ended or waits. Rejects with `execution_exists` for another task, model, caller or tenant under the id.
 */
export async function runAgent<Answer = string>(
  scope: AgentScope,
  request: AgentRequest,
  task: string,
  execution?: ExecutionId,
): Promise<AgentReport<Answer>> {
  const { model } = request;
  const begin = () => beginConversation(scope, request, { task, execution });
  if (execution === undefined) return driveConversation<Answer>(await begin());
  return runUnderId<AgentReport<Answer>>(scope, {
    execution,
    what: "task, model or tenant",
    begin: async () => {
      const live = await begin();
      return () => driveConversation<Answer>(live);
    },
    text: task,
    isSame: (header, isText) => header.kind === "conversation" && isText(header.task) && header.model === model.name,
    goOn: () => resumeAgent<Answer>(scope, execution, request),
  });
}

/** The report of a conversation that nothing drives, as its journal tells it. */
async function undrivenReport<Answer = string>(
  { gate, tenant, journal }: AgentScope,
  past: PastConversation,
  ending: AgentEnding,
  ownSchema?: ResultSchema,
): Promise<AgentReport<Answer>> {
  const { header, use, usage } = past;
  const schema = ownSchema ?? recordedSchema(settingsOf(header).settings?.answer);
  const share = gate.held.share(tenant, 0);
  try {
    const checked =
      schema && ending.type === "answered" ? await checkAnswer(ending.answer, schema, share.lane) : undefined;
    const value = checked?.ok ? checked.value : undefined;
    const artifacts = new ArtifactSpace(journal, header.execution, past.artifacts);
    return agentReport<Answer>(past.state, { ending, value, lines: use.lines, usage, artifacts });
  } finally {
    share.end();
  }
}
