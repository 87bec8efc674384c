import { randomUUID } from "node:crypto";
import { headerBase, areRecorded, recordedTool } from "../gate/header-base.ts";
import { type ExecutionId, now } from "../base/index.ts";
import type { ContinuedRef } from "../journal/record.ts";
import type { Opening } from "../models/model.ts";
import { begunIn } from "../executions/observers.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import type { AgentRequest } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { ConversationLog, historyShare } from "./drive/conversation-log.ts";
import { LiveConversation } from "./drive/live-conversation.ts";
import { openingFor } from "./prompt/opening.ts";
import { headerSettings } from "./conversation-settings.ts";
import type { ToolSet } from "../tools/tool-set.ts";

export interface Beginning {
  /** What the model is asked first; empty if the user says it later. */
  readonly task: string;
  readonly execution?: ExecutionId | undefined;
  readonly continues?: ContinuedRef;
  /** Name of the model that made the first turns, if they were copied. */
  readonly model?: string;
  readonly rests?: boolean;
}

export async function beginConversation(
  scope: AgentScope,
  request: AgentRequest,
  { task, execution = randomUUID(), continues, rests = false, model: first = request.model.name }: Beginning,
): Promise<LiveConversation> {
  const { model, programs, maxTurns, maxTokens, instructions } = request;
  const { gate, journal, language, leaseMs, tenant, onEvent } = scope;
  const opening = openingFor(model, scope, request);
  const conversation = await model.converse(opening);
  // A conversation that its developer holds has a span for each message.
  const span = rests ? undefined : scope.telemetry?.beginConversation({ execution, model: model.name, tenant });
  const about = { kind: "conversation", model: first, task, programs, language, maxTurns, maxTokens } as const;
  const header = {
    ...headerBase(execution, scope, gate.tools.all, {}, span ? span.traceparent : scope.telemetry?.here),
    ...about,
    shown: shownTo(opening),
    approvePrograms: scope.approvePrograms || undefined,
    instructions,
    settings: headerSettings(request),
    continues,
  };
  const log = await begunIn(span, () =>
    ConversationLog.create(journal, header, { driver: randomUUID(), leaseMs }, historyShare(scope)),
  );
  onEvent({ type: "conversation_started", execution, model: model.name, task });
  if (task !== "") conversation.say(task);
  const live = new LiveConversation({ scope, log, request, opening, conversation, rests, span });
  live.tellTools();
  return live;
}

function shownTo({ tools, runProgram }: Opening) {
  return [runProgram ?? [], tools].flat().map(shownDigest);
}

/** Instructions and tools that the client of a surface gives with a request hold from here on. What it leaves out stays. */
export async function changeOpening(live: LiveConversation, { instructionsFor }: AgentRequest): Promise<void> {
  const { state, model, scope } = live;
  const instructions = instructionsFor?.(model.name);
  if (instructions !== undefined && instructions !== state.answering.instructions)
    await live.changeModel(model, instructions);
  const { hostTools: tools } = scope;
  if (tools && tools.all.length > 0 && !areRecorded(tools.all, state.tools)) await changeTools(live, tools);
}

/** As `Conversation.setTools`. Throws `tools_conflict`, and `option_invalid` if the model cannot take other tools. */
export async function changeTools(live: LiveConversation, tools: ToolSet): Promise<void> {
  const { scope, request, model, state } = live;
  const {
    answering: { instructions },
  } = state;
  const gate = scope.gate.withTools(tools);
  const opening = openingFor(model, { ...scope, gate }, { ...request, instructions }, "setTools");
  // Before it is journalled: what the model does not take is refused here.
  const changed = await live.openedWith(opening);
  const digests = tools.all.map(recordedTool);
  await live.log.append({ type: "tools", tools: digests, shown: shownTo(opening), at: now() });
  live.scope = { ...scope, gate };
  // A decision that only the journal tells of may be about another tool of the same name and interface.
  const { use } = live;
  live.use = use && { ...use, remembered: use.remembered?.filter(({ handler }) => handler !== undefined) ?? [] };
  live.takeOpened(opening, changed);
}
