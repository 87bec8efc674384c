import { randomUUID } from "node:crypto";
import type { Language } from "../../bridge/frames.ts";
import { optionError, PortcullisError } from "../errors.ts";
import { rememberedIn, stillMeant } from "../gate/remembered.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import type { Conversation, Model } from "../models/model.ts";
import type { Said } from "../programs/decide.ts";
import { drivenHere } from "../programs/driven-here.ts";
import { headerOf } from "../programs/execute-once.ts";
import { applyToCall } from "../programs/execution-state.ts";
import { limitsOf } from "../programs/limits.ts";
import { changedTools, refuseChangedTools } from "../programs/changed-tools.ts";
import { refuseDriven, refuseOfAnother } from "../programs/resume.ts";
import { beginAgent } from "./agent.ts";
import { type AgentReport, agentReport, type AgentRequest } from "./agent-report.ts";
import { driveConversation } from "./agent-loop.ts";
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
  type PastConversation,
  readOwnConversation,
  waitingOfConversation,
} from "./past-conversation.ts";
import { PROGRAMS_OPTIONS, type ProgramsOption } from "./transcript.ts";

export interface ResumeAgentWork extends Said {
  /** The model that the conversation began with. */
  readonly model: Model;
  /** Take the conversation up although tools have changed or are gone. */
  readonly allowChangedTools?: boolean | undefined;
  /** Drive a conversation that only waits, and ask the scope's approver about its calls. */
  readonly asks?: boolean | undefined;
}

/**
 * Takes a conversation up where its journal is, and drives it to its ending, or until it waits. One that has ended, or
 * that only waits, is reported without being driven. No recorded turn is asked for again. Rejects with
 * `execution_unknown`, also for another tenant's conversation, `option_invalid` for another model, `execution_driven`,
 * `tools_changed`, `call_unknown`, `decision_exists`, `journal_invalid`, and as the journal does.
 */
export async function resumeAgent(
  scope: AgentScope,
  execution: ExecutionId,
  work: ResumeAgentWork,
): Promise<AgentReport> {
  const past = await readOwnConversation(scope, execution);
  const { header } = past;
  if (past.outcome) {
    const { parseEnding } = await import("./parse-message.ts");
    return undrivenReport(execution, past, parseEnding(execution, past.outcome.outcome));
  }
  refuseOfAnother(scope, execution, header);
  const records = recordsOfConversation(past, work);
  const isSaid = Object.keys({ ...work.decisions, ...work.results }).length > 0;
  const waiting = waitingOfConversation(past);
  if (waiting && !isSaid && !work.asks) return undrivenReport(execution, past, waiting);
  await refuseWrongResultsOf(past, work, scope.gate.tools);
  const here = drivenHere<AgentReport>(scope.journal, execution);
  if (here) {
    if (isSaid) await decideConversation(scope, execution, work);
    return here.ended;
  }
  const { model, allowChangedTools } = work;
  if (model.name !== header.model)
    throw optionError("resumeAgent({ model })", `${header.model}, with which the conversation began`, model.name);
  const { gate } = scope;
  const differing = changedTools(gate.tools.all, header);
  if (!allowChangedTools) refuseChangedTools(differing);
  if (!scope.above) await refuseDriven(scope.journal, execution);

  const known = header.tools.map(({ name }) => name).filter((name) => gate.tools.get(name) !== undefined);
  const own = scope.with({
    gate: gate.beside(gate.tools.select(known, "resumeAgent")),
    limits: limitsOf(header),
    language: header.language as Language,
    approvePrograms: scope.approvePrograms || header.approvePrograms === true,
  });
  const programs = programsOf(header.programs);
  const opening = openingFor(model, own.gate.search, programs, own, "resumeAgent");
  const conversation = await model.converse(opening);
  restore(conversation, past, model);

  const { journal, leaseMs } = scope;
  await noteInPrograms(scope, execution, past, work);
  const driver = { driver: randomUUID(), leaseMs };
  const claim = { type: "claim", ...driver, at: Date.now() } as const;
  const log = await ExecutionLog.claim(journal, execution, past.records, driver, [claim, ...records]);
  const { task, maxTurns, maxTokens } = header;
  const request = { model, task, programs, maxTurns, maxTokens };
  for (const record of records) applyToCall(past.open.get(record.call), record);
  const remembered = [...(past.use.remembered ?? []), ...rememberedIn(records, (id) => past.open.get(id))];
  const use = { ...past.use, remembered: stillMeant(remembered, differing.changed) };
  return driveConversation(own, log, {
    request,
    opening,
    conversation,
    past: { ...past, use },
    allowChangedTools,
    asks: work.asks,
  });
}

/** Ends the conversation of an agent whose caller has ended without it, as cancelled, and its programs with it. Nothing of it runs. */
export async function cancelConversation(
  scope: AgentScope,
  execution: ExecutionId,
  past: PastConversation,
): Promise<AgentReport> {
  const { journal, leaseMs } = scope;
  const ending = { type: "cancelled" } as const;
  const driver = { driver: randomUUID(), leaseMs };
  const claim = { type: "claim", ...driver, at: Date.now() } as const;
  const outcome = { type: "outcome", outcome: JSON.stringify(ending), at: Date.now() } as const;
  const log = await ExecutionLog.claim(journal, execution, past.records, driver, [claim, outcome]);
  await log.end(true);
  await cancelPrograms(scope, execution, past);
  return undrivenReport(execution, past, ending);
}

/**
 * Runs a conversation under an id of the caller's choice. The same id again joins the running conversation, goes on with
 * one whose host died, or gives the report of one that has ended or waits. Rejects with `execution_exists` for another
 * task, model, caller or tenant under the id.
 */
export async function runAgentOnce(
  scope: AgentScope,
  request: AgentRequest,
  execution: ExecutionId,
): Promise<AgentReport> {
  let drive: (() => Promise<AgentReport>) | undefined;
  try {
    drive = await beginAgent(scope, request, execution);
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "execution_exists") throw error;
  }
  if (drive) return drive();
  const header = await headerOf(scope.journal, execution);
  const { model, task } = request;
  const { above, tenant } = scope;
  const isSame =
    header?.kind === "conversation" && header.tenant === tenant && header.task === task && header.model === model.name;
  if (!isSame || header.parent?.execution !== above?.execution || header.parent?.call !== above?.callId)
    throw new PortcullisError(
      "execution_exists",
      `There is another execution ${JSON.stringify(execution)} already: its task, model or tenant differs. Choose another id.`,
    );
  return drivenHere<AgentReport>(scope.journal, execution)?.ended ?? resumeAgent(scope, execution, { model });
}

/** Brings the model's side of the conversation to where the journal is. */
function restore(conversation: Conversation, { header, turns, open }: PastConversation, model: Model): void {
  if (!conversation.restore)
    throw optionError("resumeAgent({ model })", "a model whose conversations have `restore`", model.name);
  conversation.say(header.task);
  for (const [index, { turn, opaque, results }] of turns.entries()) {
    conversation.restore(turn, opaque);
    // The results of the last turn are given together, once all are there.
    if (index + 1 < turns.length || open.size === 0)
      conversation.answer(turn.calls.flatMap(({ id }) => results.get(id) ?? []));
  }
}

function programsOf(text: string): ProgramsOption {
  const programs = PROGRAMS_OPTIONS.find((option) => option === text);
  if (programs) return programs;
  throw new PortcullisError("journal_invalid", `The journal says that programs run at ${JSON.stringify(text)}.`);
}

/** The report of a conversation that is not driven, from its journal alone. */
function undrivenReport(execution: ExecutionId, past: PastConversation, ending: AgentEnding): AgentReport {
  const { header, turns, use, usage } = past;
  return agentReport(
    { model: { name: header.model }, task: header.task, programs: programsOf(header.programs) },
    {
      execution,
      ending,
      turns: turns.map(({ turn, results }) => ({
        turn,
        results: turn.calls.flatMap(({ id }) => results.get(id) ?? []),
      })),
      tools: header.tools.map(({ name }) => name),
      lines: use.lines,
      calls: use.calls,
      usage,
    },
  );
}
