/*
 * What `runtime.execution(id).send` does. A message of the user comes in; the conversation is begun or taken over, driven to its next
 * ending and left in the journal; its report goes out. Between two messages nothing of the conversation is in memory.
 */
import { isDeepStrictEqual } from "node:util";
import { type ExecutionId, PortcullisError, type Share, hasCode } from "../../base/index.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { UserMessage } from "../../models/model.ts";
import { drivenHere } from "../../executions/driven.ts";
import { isAskedOtherwise } from "../../executions/run-under-id.ts";
import { openedOptions, requestOf, type ResolvedAgentOptions, SEND_RULES } from "../agent-options.ts";
import type { AgentReport, AgentRequest } from "../agent-report.ts";
import type { AgentScope } from "../agent-scope.ts";
import { beginConversation, changeOpening } from "../agent.ts";
import {
  standingOfConversation,
  cancelPrograms,
  type PastConversation,
  readOwnConversation,
} from "../from-journal/past-conversation.ts";
import { userMessages } from "../from-journal/conversation-state.ts";
import { refusal } from "../calls/call-result.ts";
import { messagesByUser, messagesOf } from "../prompt/said-message.ts";
import { resumePast, takeUp } from "../resume-agent.ts";
import { ConversationLog, withHistory } from "./conversation-log.ts";
import { driveConversation } from "./drive-conversation.ts";
import type { LiveConversation } from "./live-conversation.ts";

interface SendWork {
  /** None to go on from where the conversation is. */
  readonly messages: readonly UserMessage[] | undefined;
  /** Number of messages of the user before these; not checked if it is missing. */
  readonly expect: number | undefined;
  readonly request: AgentRequest;
  readonly allowChangedTools: boolean;
  readonly onSaid: () => void;
}

/** As `ExecutionHandle.send`. `run` runs work in the runtime's scope, changed by the options, when there is a place for it. */
export async function sendMessage<Answer>(
  id: ExecutionId,
  message: unknown,
  options: object,
  run: (
    read: ResolvedAgentOptions<typeof SEND_RULES> & { readonly id: ExecutionId },
    work: (scope: AgentScope) => Promise<AgentReport<Answer>>,
  ) => Promise<AgentReport<Answer>>,
): Promise<AgentReport<Answer>> {
  const messages = message === undefined ? undefined : messagesOf(message, "send(message)");
  const read = openedOptions("send", options, SEND_RULES);
  const { expect, allowChangedTools, onSaid = () => {} } = read;
  return run({ ...read, id }, (scope) => {
    const request = requestOf(read, scope.gate.tools, "send");
    return sendOnce<Answer>(scope, id, { messages, expect, request, allowChangedTools, onSaid });
  });
}

/**
 * Says something in a conversation that no host holds, drives it to an ending, and leaves it resting in the journal. An id
 * that the journal does not have begins a conversation. What the journal shows to be said already is not said again.
 */
async function sendOnce<Answer>(
  scope: AgentScope,
  execution: ExecutionId,
  work: SendWork,
): Promise<AgentReport<Answer>> {
  const begun = await beginIfNew(scope, execution, work);
  if (begun) return sendIn<Answer>(begun, work);
  return (
    joinHere<Answer>(scope, execution, work) ??
    withHistory(scope, (history) => sendInPast<Answer>(scope, execution, work, history))
  );
}

/** What is said to a conversation that is at work here: the same message waits with it, any other is refused. Nothing is read. */
function joinHere<Answer>(
  scope: AgentScope,
  execution: ExecutionId,
  work: SendWork,
): Promise<AgentReport<Answer>> | undefined {
  const here = drivenHere<AgentReport<Answer>>(scope.journal, execution);
  if (!(here?.log instanceof ConversationLog) || here.log.state.header.tenant !== scope.tenant) return undefined;
  if (!isSaid(scope, here.log.state, work))
    throw new PortcullisError(
      "conversation_busy",
      `send: the conversation ${JSON.stringify(execution)} is at work. Wait for it, or interrupt it first.`,
    );
  work.onSaid();
  return here.ended;
}

async function sendInPast<Answer>(
  scope: AgentScope,
  execution: ExecutionId,
  work: SendWork,
  history: Share,
): Promise<AgentReport<Answer>> {
  const past = await readOwnConversation(scope, execution, history);
  const taking = { ...work.request, allowChangedTools: work.allowChangedTools, subject: "send", rests: true };
  if (isSaid(scope, past, work)) {
    work.onSaid();
    return resumePast<Answer>(scope, past, taking, history);
  }
  if (past.outcome)
    throw new PortcullisError(
      "conversation_ended",
      `send: the conversation ${JSON.stringify(execution)} has ended. Begin another one with its turns: runtime.conversation({ from }).`,
    );
  return joinHere<Answer>(scope, execution, work) ?? sendIn<Answer>(await takeUp(scope, past, taking, history), work);
}

async function beginIfNew(
  scope: AgentScope,
  execution: ExecutionId,
  { request, expect = 0, messages }: SendWork,
): Promise<LiveConversation | undefined> {
  if (expect > 0 || !messages || (await findIfKnown(scope.journal, execution))) return undefined;
  try {
    return await beginConversation(scope, request, { task: "", execution, rests: true });
  } catch (error) {
    if (hasCode(error, "execution_exists")) return undefined;
    throw error;
  }
}

/**
 * Whether the message is said already. Throws `execution_exists` for another conversation under the id, and `conversation_moved` if
 * other messages were said.
 */
function isSaid(
  { owner }: AgentScope,
  past: Pick<PastConversation, "header" | "turns" | "said">,
  { messages, expect, request }: SendWork,
): boolean {
  const history = userMessages(past);
  const { length } = history;
  const { execution, model } = past.header;
  // Also if the message is said already: it was with other tools, or another schema of the answer.
  if (expect === 0 && isAskedOtherwise(past.header, owner)) throw anotherConversation(execution);
  if (expect === undefined) return false;
  if (messages && isDeepStrictEqual(history.slice(expect, expect + messages.length), [...messages])) return true;
  if (expect === 0 && (length > 0 || model !== request.model.name)) throw anotherConversation(execution);
  if (expect === length) return false;
  throw new PortcullisError(
    "conversation_moved",
    `send({ expect }): the conversation ${JSON.stringify(execution)} has ${length} of the user's messages, and ${expect} were expected. Nothing was said. Read it, then say what is still to be said.`,
  );
}

function anotherConversation(execution: ExecutionId): PortcullisError {
  return new PortcullisError(
    "execution_exists",
    `There is another conversation ${JSON.stringify(execution)} already: its first message, model or settings differ. Choose another id.`,
  );
}

async function sendIn<Answer>(
  live: LiveConversation,
  { messages, onSaid, request }: SendWork,
): Promise<AgentReport<Answer>> {
  try {
    if (live.scope.owner?.surface) await changeOpening(live, request);
    await sendOrGoOn(live, messages);
  } catch (error) {
    await leave(live);
    throw error;
  }
  onSaid();
  return driveConversation<Answer>(live, { staysOpen: true });
}

/** Nothing was said: the conversation waits for the user as before, also if its open calls were given up. */
async function leave(live: LiveConversation): Promise<void> {
  try {
    const standing = standingOfConversation(await live.read());
    if (standing.state === "running") await live.rest({ type: "cancelled" });
  } finally {
    await live.log.end(false);
  }
}

const GIVEN_UP = "The user went on before this call had an answer, so it was given up.";

/**
 * Says something in a conversation, whose open calls are then given up and the programs among them ended. Without a message
 * it is made ready to go on with its open calls, or from what was said last.
 */
export async function sendOrGoOn(live: LiveConversation, messages: readonly UserMessage[] | undefined): Promise<void> {
  if (messages) {
    if (live.open) await giveUpOpenCalls(live);
    return live.say(messagesByUser(messages));
  }
  if (live.open) await live.refresh();
  else await refuseSilence(live, "send(message)");
  if (live.state.rest) await live.say([]);
}

async function giveUpOpenCalls(live: LiveConversation): Promise<void> {
  const openCalls = live.openCalls;
  if (openCalls.length > 0) await cancelPrograms(live.scope, await live.read());
  for (const call of openCalls) live.takeResult(refusal(call, GIVEN_UP));
  // What they count for, and calls that were answered by hand.
  await live.refresh();
  await live.closeTurn();
}

/** A model that has answered, and is told nothing more, has nothing to do. */
export async function refuseSilence(live: LiveConversation, label: string): Promise<void> {
  const { header, said, turns } = live.state;
  const end = turns.at(-1)?.turn.end.type;
  if (said.length > 0 || (header.task !== "" && turns.length === 0)) return;
  if (end !== undefined && (end !== "answered" || (await live.holdsMessages()))) return;
  messagesOf(undefined, label);
}
