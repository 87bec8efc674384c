import type { ExecutionId } from "../../journal/execution-id.ts";
import type { RestRecord } from "../../journal/record.ts";
import { isExpired, isWaiting } from "../../programs/from-journal/call-history.ts";
import { shownWaiting } from "../../programs/redact-execution.ts";
import type { UnansweredCall } from "../../programs/from-journal/execution-state.ts";
import { standingOf, waitingCalls, waitingFor } from "../../programs/from-journal/standing.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { jsonOrText } from "../../values/json/json-text.ts";
import type { AgentEnding } from "../ending.ts";
import type { Waiting } from "../../programs/outcome.ts";
import { isHeld } from "./conversation-state.ts";
import type { OpenModelCall, PastConversation } from "./past-conversation.ts";

/** How a conversation stands, as `Standing` tells of programs. */
export type ConversationStanding =
  | { readonly state: "running" | "ended" }
  | {
      readonly state: "waiting";
      /** It goes no further before the user says more. */
      readonly rests: boolean;
      /** Its calls that wait, including calls of its programs. If it rests, the calls that its host is to answer. */
      readonly calls: readonly UnansweredCall[];
      /** The same calls with their inputs, which are parsed when the field is read. */
      readonly waiting: Waiting;
      /** Why it waits only as long as its driver lives, as `Standing` tells it. */
      readonly held?: "redaction";
    };

/** What people are told of a conversation that is held. */
export const HELD_CONVERSATION =
  "Its journal was redacted and does not hold what happened: only the process that has the conversation can go on with it. Once that process has ended, begin a new conversation.";

export function standingOfConversation(past: PastConversation): ConversationStanding {
  if (past.outcome) return { state: "ended" };
  const rests = isResting(past);
  const waits = past.rest ? [] : waitsOf(past);
  if (!rests && !waits) return { state: "running" };
  // The host answers the calls of a turn that it asked for by `step`.
  const own = past.rest ? [...past.open.values()] : [];
  return {
    state: "waiting",
    rests,
    calls: [...own, ...(waits ?? []).flatMap(({ calls }) => calls)],
    get waiting() {
      const { approvals, calls } = waitingOf(waits ?? []);
      return {
        type: "waiting" as const,
        approvals,
        calls: [...own.map((call) => calledFor(call, past.rest)), ...calls],
      };
    },
    ...(past.isRedacted && { held: "redaction" as const }),
  };
}

/**
 * What an open conversation has come to; undefined if it goes on by itself. It waits for the user if nothing was said
 * in it yet, or if its host asked for a single turn.
 */
export async function openEnding(
  { header, rest }: PastConversation,
  standing: ConversationStanding,
  redactor: Redactor | undefined,
): Promise<AgentEnding | undefined> {
  if (standing.state !== "waiting") return undefined;
  if (rest?.ending === undefined) return shownWaiting(standing.waiting, redactor);
  const { parseEnding } = await import("./parse-message.ts");
  return parseEnding(header.execution, rest.ending);
}

function isResting({ header, rest, turns, said }: PastConversation): boolean {
  return rest !== undefined || (isHeld(header) && turns.length === 0 && said.length === 0);
}

/**
 * The calls of a conversation and of its programs that wait for a person or a client, whether it does more or not. Ids
 * of its programs' calls begin with `above`.
 */
export function* waitingCallsOf({ header, open, outcome, rest }: PastConversation): Generator<{
  readonly calls: readonly UnansweredCall[];
  readonly above: string;
}> {
  // The host answers the calls of a turn that it asked for by `step`.
  if (outcome || rest) return;
  for (const call of open.values()) {
    const { program, driven } = call;
    if (program) yield { calls: waitingCalls(program.state, driven), above: `${call.id}/` };
    else if (isWaiting(call) && !isExpired(header, call)) yield { calls: [call], above: "" };
  }
}

interface Waits {
  readonly calls: readonly UnansweredCall[];
  readonly execution: ExecutionId | undefined;
  /** What the ids of calls of a program begin with. */
  readonly above: string;
}

/** What its open calls wait for, including calls of its programs; undefined if no call is open, or if a call goes on by itself. */
function waitsOf({ header, open }: PastConversation): readonly Waits[] | undefined {
  const all: Waits[] = [];
  for (const call of open.values()) {
    const { id, program, driven } = call;
    const standing = program && standingOf(program.state, driven);
    if (standing?.state === "waiting")
      all.push({ calls: standing.calls, execution: program?.state.header?.execution, above: `${id}/` });
    else if (!program && isWaiting(call) && !isExpired(header, call))
      all.push({ calls: [call], execution: header.execution, above: "" });
    else return undefined;
  }
  return all.length > 0 ? all : undefined;
}

function waitingOf(waits: readonly Waits[]): Waiting {
  const all = waits.map(({ calls, execution, above }) => {
    const waiting = waitingFor(calls, execution);
    const under = <Call extends { readonly callId: string }>(call: Call) => ({ ...call, callId: above + call.callId });
    return { approvals: waiting.approvals.map(under), calls: waiting.calls.map(under) };
  });
  return {
    type: "waiting",
    approvals: all.flatMap(({ approvals }) => approvals),
    calls: all.flatMap(({ calls }) => calls),
  };
}

function calledFor({ id, tool, inputText }: OpenModelCall, rest: RestRecord | undefined): Waiting["calls"][number] {
  return { callId: id, tool, input: jsonOrText(inputText), since: rest?.at ?? 0 };
}
