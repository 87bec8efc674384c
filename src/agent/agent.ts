import { randomUUID } from "node:crypto";
import { headerBase } from "../gate/header-base.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import { driveConversation } from "./agent-loop.ts";
import type { AgentReport, AgentRequest } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { openingFor } from "./opening.ts";

/**
 * Runs a conversation: asks the model for a turn, answers its calls, asks for the next turn, until the model answers, a
 * limit is reached, or only the outside can bring it further. Every failure of the model or its provider is an ending.
 * Rejects for requests that the model does not support, where the journal cannot be written or the sandbox has no guest,
 * and with `execution_exists`.
 */
export async function runAgent(
  scope: AgentScope,
  request: AgentRequest,
  execution: ExecutionId = randomUUID(),
): Promise<AgentReport> {
  const { model, task, programs, maxTurns, maxTokens } = request;
  const { gate, journal, language, leaseMs, onEvent } = scope;
  const opening = openingFor(model, gate.search, programs, scope);
  const conversation = await model.converse(opening);
  const about = { kind: "conversation", model: model.name, task, programs, language, maxTurns, maxTokens } as const;
  const { tools, runProgram } = opening;
  const shown = [...(runProgram ? [runProgram] : []), ...tools].map(shownDigest);
  const header = { ...headerBase(execution, scope, gate.tools.all), ...about, shown };
  const log = await ExecutionLog.create(journal, header, { driver: randomUUID(), leaseMs });
  onEvent({ type: "conversation_started", execution, model: model.name });
  conversation.say(task);
  return driveConversation(scope, log, { request, opening, conversation });
}
