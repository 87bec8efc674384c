import { type ExecutionId, Lane, now, PortcullisError, type SlicedWork } from "../../base/index.ts";
import { copiedReport } from "../../executions/output/report.ts";
import { refuseOfAnother } from "../../executions/resume.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import type { ContinuedRef } from "../../journal/record.ts";
import type { AgentRequest } from "../agent-report.ts";
import type { AgentScope } from "../agent-scope.ts";
import { beginConversation } from "../agent.ts";
import type { AgentEnding } from "../event.ts";
import { type KeptTurn, resultsInOrder, type Transcript } from "../from-journal/conversation-state.ts";
import { recordOf, historyShare, withHistory } from "./conversation-log.ts";
import type { LiveConversation } from "./live-conversation.ts";
import { endingOf, type PastConversation, readOwnConversation } from "../from-journal/past-conversation.ts";
import type { History } from "../from-journal/restore-conversation.ts";
import { takeUp } from "../resume-agent.ts";
import { type SaidMessage, messagesByUser } from "../prompt/said-message.ts";

export interface CopiedTurns {
  readonly live: LiveConversation;
  readonly ending?: AgentEnding | undefined;
}

export interface ContinueWork {
  readonly request: AgentRequest;
  readonly execution?: ExecutionId | undefined;
  /** Names of options that were chosen and that an open conversation has from its beginning. */
  readonly chosen: readonly string[];
  readonly allowChangedTools?: boolean | undefined;
  readonly asks?: boolean | undefined;
}

/**
 * Begins a conversation with the turns of one that has ended, which stays as it was. Rejects with `execution_unknown`, and
 * with `execution_open` for one that has not ended.
 */
export async function copyConversation(scope: AgentScope, from: ExecutionId, work: ContinueWork): Promise<CopiedTurns> {
  const past = await withHistory(scope, (history) => readOwnConversation(scope, from, history));
  if (!past.outcome)
    throw new PortcullisError(
      "execution_open",
      `conversation({ from }): the conversation ${JSON.stringify(from)} has not ended. Take it over: runtime.conversation({ id: ${JSON.stringify(from)} }).`,
    );
  const live = await copied(scope, historyOf(past), work, past);
  // What was kept is copied too: a journal in a file holds its text once.
  const kept = new ArtifactSpace(scope.journal, from, past.artifacts);
  for (const one of kept.all)
    await orBrokenOff(
      live,
      kept.read(one).then((value) => live.artifacts.save(one, value)),
    );
  return { live };
}

/**
 * Takes an open conversation over as it is. Rejects with `execution_unknown`, `conversation_ended`, `option_invalid` for an
 * option that it cannot change, and as `resume` does.
 */
export async function takeOver(scope: AgentScope, id: ExecutionId, work: ContinueWork): Promise<CopiedTurns> {
  const { request, allowChangedTools, asks, chosen } = work;
  const history = historyShare(scope);
  try {
    const past = await readOwnConversation(scope, id, history);
    if (past.outcome)
      throw new PortcullisError(
        "conversation_ended",
        `conversation({ id }): the conversation ${JSON.stringify(id)} has ended. Begin another one with its turns: runtime.conversation({ from: ${JSON.stringify(id)} }).`,
      );
    refuseOfAnother(scope, id, past.header);
    const [fixed] = chosen;
    if (fixed !== undefined)
      throw new PortcullisError(
        "option_invalid",
        `conversation({ ${fixed} }): the conversation ${JSON.stringify(id)} has not ended, and keeps what it began with. Leave the option out.`,
      );
    // Before the take-over: an ending that cannot be read refuses the conversation, which would be held for ever.
    const ending = await endingOf(past, scope.redactor);
    const resumeWork = { ...request, allowChangedTools, asks, subject: "conversation", rests: true };
    return { live: await takeUp(scope, past, resumeWork, history), ending };
  } catch (error) {
    history.end();
    throw error;
  }
}

/**
 * Begins a conversation with the turns of a transcript, which may come from a file. A transcript lacks what only the provider
 * could read: if the model's adapter needs that, the turns are told as text. Throws `option_invalid` for a value that
 * is no transcript, and for a transcript that no conversation can have.
 */
export async function copyTranscript(
  scope: AgentScope,
  transcript: Transcript,
  work: ContinueWork,
): Promise<CopiedTurns> {
  // Loaded on demand: it loads the schema library.
  const { readTranscript } = await import("../from-journal/parse-message.ts");
  const history = await new Lane(scope.tenant).work(readTranscript(transcript, "conversation({ from })"));
  return { live: await copied(scope, history, work) };
}

type CopiedHistory = Omit<History, "isOpen">;

/** What its model was sent, up to its last complete turn, and what was said after that. */
function historyOf({ header, sent, said, open }: PastConversation): CopiedHistory {
  const { task } = header;
  if (open.size === 0) return { task, turns: sent, said };
  return { task, turns: sent.slice(0, -1), said: [...(sent.at(-1)?.said ?? []), ...said] };
}

async function copied(
  scope: AgentScope,
  { task, turns, said }: CopiedHistory,
  { request, execution }: ContinueWork,
  from?: PastConversation,
): Promise<LiveConversation> {
  const continues = { turns: turns.length, ...(from && { execution: from.header.execution, ...toolsOf(from) }) };
  const model = turns[0]?.model ?? request.model.name;
  const live = await beginConversation(scope, request, { task: "", execution, continues, model, rests: true });
  const first = task === "" ? [] : messagesByUser([task]);
  const whole = turns.map((one, index) => ({
    ...one,
    said: index === 0 ? [...first, ...one.said] : one.said,
    results: new Map([...one.results].map(([id, result]) => [id, { ...result, text: copiedReport(result.text) }])),
  }));
  const tail = turns.length === 0 ? [...first, ...said] : said;
  await orBrokenOff(live, writeCopy(live, whole, tail));
  live.reopen();
  return live;
}

function toolsOf({ header: { continues }, places }: PastConversation): Pick<ContinuedRef, "tools"> {
  if (continues && !continues.tools) return {};
  return { tools: [...new Set([...(continues?.tools ?? []), ...places.keys()])] };
}

/** Turns that are written together. A journal with a part of them alone is no conversation. */
const TURNS_WRITTEN = 128;

async function writeCopy(
  { log, request, scope }: LiveConversation,
  turns: readonly KeptTurn[],
  tail: readonly SaidMessage[],
): Promise<void> {
  const lane = new Lane(scope.tenant);
  const at = now();
  const says = (messages: readonly SaidMessage[]) => messages.length > 0 && log.defer(...recordOf({ said: messages }));
  const goesTo = (name: string) => name !== log.state.answering.model && log.defer({ type: "model", model: name, at });
  const noting = function* (some: readonly KeptTurn[]): SlicedWork<void> {
    for (const one of some) {
      says(one.said);
      goesTo(one.model);
      log.defer(...recordOf({ turn: one.turn }, one.opaque));
      if (one.results.size > 0) log.defer(...recordOf({ results: resultsInOrder(one) }));
      yield;
    }
  };
  for (let from = 0; from < turns.length; from += TURNS_WRITTEN) {
    await lane.work(noting(turns.slice(from, from + TURNS_WRITTEN)));
    await log.append();
  }
  says(tail);
  goesTo(request.model.name);
  await log.append({ type: "rest", ending: JSON.stringify({ type: "cancelled" }), at });
}

/** Gives the new conversation up if its copy fails: this host would hold it as long as the process lives. */
async function orBrokenOff(live: LiveConversation, copying: Promise<unknown>): Promise<void> {
  try {
    await copying;
  } catch (error) {
    await live.breakOff(error);
    throw error;
  }
}
