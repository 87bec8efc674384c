import { randomUUID } from "node:crypto";
import type { Language } from "../../bridge/frames.ts";
import { optionError, PortcullisError } from "../errors.ts";
import { rememberedIn, stillMeant } from "../gate/remembered.ts";
import { ArtifactSpace } from "../journal/artifact-space.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import type { ClaimRecord, JournalRecord } from "../journal/record.ts";
import type { Model } from "../models/model.ts";
import { reportArtifacts } from "../output/artifacts.ts";
import type { Said } from "../programs/decide.ts";
import { drivenHere } from "../programs/driven-here.ts";
import { once } from "../programs/once.ts";
import { applyToCall } from "../programs/execution-state.ts";
import { limitsOf } from "../programs/limits.ts";
import { traceOf } from "../programs/program-span.ts";
import { changedTools, refuseChangedTools } from "../programs/changed-tools.ts";
import { shownWaiting } from "../programs/redact-execution.ts";
import { refuseDriven, refuseOfAnother } from "../programs/resume.ts";
import { beginConversation } from "./agent.ts";
import { beginSpan } from "./conversation-span.ts";
import { type AnswerSchema, checkAnswer, recordedSchema } from "./answer-schema.ts";
import { type AgentReport, agentReport, type AgentRequest, type LoopRules } from "./agent-report.ts";
import { driveConversation } from "./drive-conversation.ts";
import { openConversation } from "./history.ts";
import { LiveConversation, transcriptTurns } from "./live-conversation.ts";
import type { AgentScope } from "./agent-scope.ts";
import {
  decideConversation,
  noteInPrograms,
  recordsOfConversation,
  refuseWrongResultsOf,
} from "./decide-conversation.ts";
import type { AgentEnding } from "./ending.ts";
import { openingFor } from "./opening.ts";
import {
  cancelPrograms,
  hasOpenTurn,
  isHeld,
  isResting,
  type PastConversation,
  readOwnConversation,
  waitingOfConversation,
} from "./past-conversation.ts";
import { settingsOf } from "./settings.ts";
import { PROGRAMS_OPTIONS, type ProgramsOption } from "./transcript.ts";

export interface ResumeAgentWork extends Said, Pick<LoopRules, "fallbacks" | "stopWhen" | "compact" | "answer"> {
  /** The model that the conversation began with. */
  readonly model: Model;
  /** Take the conversation up although tools have changed or are gone. */
  readonly allowChangedTools?: boolean | undefined;
  /** Drive a conversation that only waits, and ask the scope's approver about its calls. */
  readonly asks?: boolean | undefined;
  /** The function that was called, for errors. */
  readonly subject?: string;
  /** It goes on after an ending, also where it began with a task. */
  readonly rests?: boolean;
}

/**
 * Takes a conversation up where its journal is, and drives it to its ending, or until it waits. One that has ended, or
 * that only waits, is reported without being driven. No recorded turn is asked for again. Rejects with
 * `execution_unknown`, also for another tenant's conversation, `option_invalid` for another model, `execution_driven`,
 * `tools_changed`, `call_unknown`, `decision_exists`, `journal_invalid`, and as the journal does.
 */
export async function resumeAgent<Answer = string>(
  scope: AgentScope,
  execution: ExecutionId,
  work: ResumeAgentWork,
): Promise<AgentReport<Answer>> {
  const past = await readOwnConversation(scope, execution);
  const { header } = past;
  if (past.outcome) {
    const { parseEnding } = await import("./parse-message.ts");
    return undrivenReport<Answer>(scope, past, parseEnding(execution, past.outcome.outcome), work.answer);
  }
  refuseOfAnother(scope, execution, header);
  recordsOfConversation(past, work);
  const isSaid = Object.keys({ ...work.decisions, ...work.results }).length > 0;
  if (isResting(past)) return undrivenReport<Answer>(scope, past, await restingEnding(past), work.answer);
  const waiting = waitingOfConversation(past);
  if (waiting && !isSaid && !work.asks)
    return undrivenReport<Answer>(scope, past, await shownWaiting(waiting, scope.redactor), work.answer);
  await refuseWrongResultsOf(past, work, scope.gate.tools);
  const here = drivenHere<AgentReport<Answer>>(scope.journal, execution);
  if (here) {
    if (isSaid) await decideConversation(scope, execution, work);
    return here.ended;
  }
  return driveConversation<Answer>(await takeUp(scope, past, work));
}

/**
 * Takes over an open conversation, and brings a model to where it is. Rejects with `option_invalid` for another model,
 * `execution_driven`, `tools_changed`, `journal_invalid`, and as the journal does.
 */
export async function takeUp(
  scope: AgentScope,
  past: PastConversation,
  work: ResumeAgentWork,
): Promise<LiveConversation> {
  const { allowChangedTools, asks, subject = "resumeAgent" } = work;
  const { header } = past;
  const { execution } = header;
  if (past.isRedacted)
    throw new PortcullisError(
      "journal_redacted",
      `The journal of conversation ${JSON.stringify(execution)} was redacted and does not hold what happened, so the conversation cannot be taken up. Begin a new one.`,
    );
  const model = [work.model, ...(work.fallbacks ?? [])].find(({ name }) => name === past.model);
  if (!model) throw optionError(`${subject}({ model })`, `${past.model}, which the conversation has`, work.model.name);
  const { gate } = scope;
  const differing = changedTools(gate.tools.all, past);
  if (!allowChangedTools) refuseChangedTools(differing);
  if (!scope.above) await refuseDriven(scope.journal, execution);

  const known = past.tools.map(({ name }) => name).filter((name) => gate.tools.get(name) !== undefined);
  const own = scope.with({
    gate: gate.beside(gate.tools.select(known, subject)),
    limits: limitsOf(header),
    language: header.language as Language,
    approvePrograms: scope.approvePrograms || header.approvePrograms === true,
  });
  const { task, maxTurns, maxTokens } = header;
  const { instructions } = past;
  const programs = programsOf(header.programs);
  const { language, tenant, limits } = own;
  const { settings, wrapUp, contextTokens } = settingsOf(header);
  const parts = { programs, language, tenant, limits, instructions, settings };
  const opening = openingFor(model, own.gate.search, parts, subject);
  const conversation = await openConversation(model, opening, {
    task,
    turns: past.sent,
    said: past.said,
    all: past.turns,
    isOpen: hasOpenTurn(past),
  });

  const records = recordsOfConversation(past, work);
  await noteInPrograms(scope, execution, past, work);
  const rests = work.rests ?? isHeld(header);
  const before = [header.trace, past.trace];
  const span = rests ? undefined : beginSpan(own, { execution, model: past.model, before });
  const log = await claim(own, past, records, traceOf(span ?? { traceparent: own.telemetry?.here }));
  for (const record of records) applyToCall(past.open.get(record.call), record);
  const remembered = [...(past.use.remembered ?? []), ...rememberedIn(records, (id) => past.open.get(id))];
  const use = { ...past.use, remembered: stillMeant(remembered, differing.changed) };
  const { fallbacks, stopWhen, compact, answer = recordedSchema(settings?.answer) } = work;
  const rules = { fallbacks, stopWhen, compact, answer, wrapUp, contextTokens };
  const request = { model, programs, maxTurns, maxTokens, instructions, settings, ...rules };
  return new LiveConversation(
    { scope: own, log, request, opening, task, conversation, rests, allowChangedTools, asks, span },
    { ...past, use },
  );
}

/** Takes over the execution by appending these records. */
function claim(
  { journal, leaseMs }: AgentScope,
  { header, records: head }: PastConversation,
  records: readonly JournalRecord[],
  trace: Pick<ClaimRecord, "trace"> = {},
): Promise<ExecutionLog> {
  const driver = { driver: randomUUID(), leaseMs, ...trace };
  const first = { type: "claim", ...driver, at: Date.now() } as const;
  return ExecutionLog.claim(journal, header.execution, head, driver, [first, ...records]);
}

/** Ends the conversation of an agent whose caller has ended without it, as cancelled, and its programs with it. Nothing of it runs. */
export async function cancelConversation(
  scope: AgentScope,
  execution: ExecutionId,
  past: PastConversation,
): Promise<AgentReport> {
  const ending = { type: "cancelled" } as const;
  const outcome = { type: "outcome", outcome: JSON.stringify(ending), at: Date.now() } as const;
  const log = await claim(scope, past, [outcome]);
  await log.end(true);
  await cancelPrograms(scope, execution, past);
  return undrivenReport(scope, past, ending);
}

/**
 * Runs a conversation under an id of the caller's choice. The same id again joins the running conversation, goes on with
 * one whose host died, or gives the report of one that has ended or waits. Rejects with `execution_exists` for another
 * task, model, caller or tenant under the id.
 */
export function runAgentOnce<Answer = string>(
  scope: AgentScope,
  request: AgentRequest,
  task: string,
  execution: ExecutionId,
): Promise<AgentReport<Answer>> {
  const { model } = request;
  return once<AgentReport<Answer>>(scope, {
    execution,
    what: "task, model or tenant",
    begin: async () => {
      const live = await beginConversation(scope, request, { task, execution });
      return () => driveConversation<Answer>(live);
    },
    text: task,
    isSame: (header, isText) => header.kind === "conversation" && isText(header.task) && header.model === model.name,
    goOn: () => resumeAgent<Answer>(scope, execution, request),
  });
}

function programsOf(text: string): ProgramsOption {
  const programs = PROGRAMS_OPTIONS.find((option) => option === text);
  if (programs) return programs;
  throw new PortcullisError("journal_invalid", `The journal says that programs run at ${JSON.stringify(text)}.`);
}

/** How it rests. One that nothing was said in yet, and one that was asked for one turn alone, wait for the user. */
export async function restingEnding(past: PastConversation): Promise<AgentEnding> {
  const { parseEnding } = await import("./parse-message.ts");
  const { header, rest } = past;
  if (rest?.ending !== undefined) return parseEnding(header.execution, rest.ending);
  return waitingOfConversation(past) ?? { type: "waiting", approvals: [], calls: [] };
}

/** The report of a conversation that is not driven, from its journal alone. */
async function undrivenReport<Answer = string>(
  { gate, tenant, journal }: AgentScope,
  past: PastConversation,
  ending: AgentEnding,
  given?: AnswerSchema,
): Promise<AgentReport<Answer>> {
  const { header, turns, said, use, usage, model } = past;
  const schema = given ?? recordedSchema(settingsOf(header).settings?.answer);
  const share = gate.held.share(tenant, 0);
  try {
    const checked =
      schema && ending.type === "answered" ? await checkAnswer(ending.answer, schema, share.lane) : undefined;
    return agentReport<Answer>(
      { model: { name: model }, programs: programsOf(header.programs) },
      {
        execution: header.execution,
        ending,
        value: checked?.ok ? checked.value : undefined,
        task: header.task,
        turns: transcriptTurns(turns),
        said,
        copied: header.continues?.turns ?? 0,
        tools: past.tools.map(({ name }) => name),
        lines: use.lines,
        calls: use.calls,
        usage,
        artifacts: reportArtifacts(new ArtifactSpace(journal, header.execution, past.artifacts)),
      },
    );
  } finally {
    share.end();
  }
}
