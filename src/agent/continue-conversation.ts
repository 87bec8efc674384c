import { randomUUID } from "node:crypto";
import { optionError, PortcullisError } from "../errors.ts";
import { refuseOfAnother } from "../programs/resume.ts";
import { ArtifactSpace } from "../journal/artifact-space.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { JournalRecord } from "../journal/record.ts";
import type { ModelTurn } from "../models/model.ts";
import type { AgentRequest } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { beginConversation } from "./agent.ts";
import type { AgentEnding } from "./ending.ts";
import { type KeptTurn, resultsInOrder } from "./history.ts";
import type { LiveConversation } from "./live-conversation.ts";
import { isResting, type PastConversation, readOwnConversation, waitingOfConversation } from "./past-conversation.ts";
import { checkTranscript, replayTranscript } from "./replay-transcript.ts";
import { restingEnding, takeUp } from "./resume-agent.ts";
import { type SaidMessage, saidByUser } from "./said.ts";
import type { Transcript } from "./transcript.ts";

/** Begins a conversation that waits for the user. */
export async function beginTalk(
  scope: AgentScope,
  request: AgentRequest,
  execution: ExecutionId = randomUUID(),
): Promise<Continued> {
  return { live: await beginConversation(scope, request, { task: "", execution, rests: true }) };
}

/** A conversation that was taken up, and how it rests. */
export interface Continued {
  readonly live: LiveConversation;
  readonly ending?: AgentEnding | undefined;
}

export interface ContinueWork {
  readonly request: AgentRequest;
  /** Id of the new execution. */
  readonly execution?: ExecutionId | undefined;
  /** Names of options that were chosen and that an open conversation has from its beginning. */
  readonly chosen: readonly string[];
  readonly allowChangedTools?: boolean | undefined;
}

/**
 * Continues a conversation. One that is open is taken over as it is. One that has ended is copied: it stays as it was, and a
 * new execution goes on after its last turn. Rejects with `execution_unknown`, `option_invalid` for an option that an open
 * conversation cannot change, and as `resumeAgent` does.
 */
export async function continueConversation(
  scope: AgentScope,
  from: ExecutionId,
  work: ContinueWork,
): Promise<Continued> {
  const past = await readOwnConversation(scope, from);
  if (past.outcome) {
    const live = await copied(scope, historyOf(past), work, from);
    await copyArtifacts(new ArtifactSpace(scope.journal, from, past.artifacts), live.artifacts);
    return { live };
  }
  refuseOfAnother(scope, from, past.header);
  const [fixed] = work.execution === undefined ? work.chosen : ["execution"];
  if (fixed !== undefined)
    throw new PortcullisError(
      "option_invalid",
      `converse({ ${fixed} }): the conversation ${JSON.stringify(from)} has not ended, and keeps what it began with. Leave the option out.`,
    );
  const live = await takeUp(scope, past, {
    ...work.request,
    allowChangedTools: work.allowChangedTools,
    subject: "converse",
    rests: true,
  });
  const ending = isResting(past) ? await restingEnding(past) : waitingOfConversation(past);
  return { live, ending };
}

/**
 * Continues a conversation from its transcript, which may come from a file. What only its provider could read is missing: where
 * the model's adapter cannot do without, it is told as text. Throws `option_invalid` for what is no transcript, and for one
 * that cannot have been.
 */
export async function continueTranscript(
  scope: AgentScope,
  transcript: Transcript,
  work: ContinueWork,
): Promise<Continued> {
  checkTranscript(transcript, "converse({ continue })");
  const replayed = replayTranscript(transcript);
  if (replayed.type === "inconsistent")
    throw new PortcullisError(
      "option_invalid",
      `converse({ continue }): the transcript cannot have been: turn ${replayed.turn}: ${replayed.detail}`,
    );
  const { readTurn, readResults, readSaid } = await import("./parse-message.ts");
  const { task, model } = transcript;
  if (typeof task !== "string" || typeof model !== "string")
    throw optionError("converse({ continue })", "a transcript, with its task and its model", transcript);
  const turns = transcript.turns.map(({ said = [], turn, results }): KeptTurn => {
    const kept = new Map(readResults(results).map((result) => [result.callId, result]));
    return { said: readSaid(said), turn: readTurn(turn), opaque: undefined, model, results: kept };
  });
  return { live: await copied(scope, { task, turns, said: readSaid(transcript.said ?? []) }, work) };
}

interface CopiedHistory {
  readonly task: string;
  readonly turns: readonly KeptTurn[];
  readonly said: readonly SaidMessage[];
}

/** What its model was sent, up to its last complete turn, and what was said after that. */
function historyOf({ header, sent, said, open }: PastConversation): CopiedHistory {
  const { task } = header;
  if (open.size === 0) return { task, turns: sent, said };
  return { task, turns: sent.slice(0, -1), said: [...(sent.at(-1)?.said ?? []), ...said] };
}

/** What was kept is copied too: a journal in a file holds its text once. */
async function copyArtifacts(from: ArtifactSpace, to: ArtifactSpace): Promise<void> {
  for (const { name, call, bytes, shape, first } of from.all)
    await to.save({ name, call, bytes, shape, first }, await from.read({ name, call, bytes, shape, first }));
}

/** A new execution with the same turns. */
async function copied(
  scope: AgentScope,
  { task, turns, said }: CopiedHistory,
  { request, execution = randomUUID() }: ContinueWork,
  from?: ExecutionId,
): Promise<LiveConversation> {
  const continues = { turns: turns.length, ...(from === undefined ? {} : { execution: from }) };
  const model = turns[0]?.model ?? request.model.name;
  const live = await beginConversation(scope, request, { task: "", execution, continues, model, rests: true });
  const first = task === "" ? [] : saidByUser([task]);
  const whole = turns.map((one, index) => (index === 0 ? { ...one, said: [...first, ...one.said] } : one));
  const left = turns.length === 0 ? [...first, ...said] : said;
  await live.log.append(...recordsOf(whole, left, model, request.model.name));
  live.begin(whole, left);
  return live;
}

function recordsOf(
  turns: readonly KeptTurn[],
  said: readonly SaidMessage[],
  first: string,
  model: string,
): readonly JournalRecord[] {
  const at = Date.now();
  const says = (messages: readonly SaidMessage[]): JournalRecord[] =>
    messages.length === 0 ? [] : [{ type: "message", from: "user", message: JSON.stringify(messages), at }];
  let last = first;
  const to = (name: string): JournalRecord[] => {
    if (name === last) return [];
    last = name;
    return [{ type: "model", model: name, at }];
  };
  return [
    ...turns.flatMap((one) => [...says(one.said), ...to(one.model), ...recordsOfTurn(one, at)]),
    ...says(said),
    ...to(model),
    { type: "rest", ending: JSON.stringify({ type: "cancelled" }), at },
  ];
}

function recordsOfTurn(one: KeptTurn, at: number): JournalRecord[] {
  const turn: ModelTurn = one.turn;
  const sealed = one.opaque === undefined ? {} : { opaque: one.opaque };
  const results = resultsInOrder(one);
  return [
    { type: "message", from: "model", message: JSON.stringify(turn), ...sealed, at },
    ...(results.length === 0 ? [] : [{ type: "message", from: "host", message: JSON.stringify(results), at } as const]),
  ];
}
