import { type ExecutionId, jsonOrText } from "../../base/index.ts";
import type { ToolDigest } from "../../journal/record.ts";
import { isExpired, isWaiting } from "../../executions/from-journal/call-history.ts";
import { shownWaiting } from "../../executions/redact-execution.ts";
import type { UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import { ListedRoom, standingOf, waitingCalls, waitingFor } from "../../executions/from-journal/standing.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import type { AgentEnding } from "../ending.ts";
import type { Waiting } from "../../executions/outcome.ts";
import { isHeld } from "./conversation-state.ts";
import type { PastConversation } from "./past-conversation.ts";

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
  "Its journal was redacted and does not hold what happened: only the process that has the conversation can continue it. Once that process has ended, begin a new conversation.";

export function standingOfConversation(past: PastConversation): ConversationStanding {
  if (past.outcome) return { state: "ended" };
  const { header, rest, turns, said } = past;
  const rests = rest !== undefined || (isHeld(header) && turns.length === 0 && said.length === 0);
  const waits = waitingCallsOf(past);
  if (!rests && (waits.length === 0 || waits.some(({ goesOn }) => goesOn))) return { state: "running" };
  return {
    state: "waiting",
    rests,
    calls: waits.flatMap(({ calls }) => calls),
    get waiting() {
      const room = new ListedRoom();
      const all = waits.map((one) => waitingOf(one, room));
      const more = all.reduce((sum, one) => sum + (one.more ?? 0), 0);
      return {
        type: "waiting" as const,
        approvals: all.flatMap(({ approvals }) => approvals),
        calls: all.flatMap(({ calls }) => calls),
        ...(more === 0 ? {} : { more }),
      };
    },
    ...(past.isRedacted && { held: "redaction" as const }),
  };
}

/**
 * What a conversation has come to; undefined if it goes on by itself. It waits for the user if nothing was said in it yet, or if
 * its host asked for a single turn. Rejects with `journal_invalid` for an ending that cannot be read.
 */
export async function endingOf(
  past: PastConversation,
  redactor: Redactor | undefined,
): Promise<AgentEnding | undefined> {
  const text = past.outcome?.outcome ?? past.rest?.ending;
  if (text !== undefined) {
    const { parseEnding } = await import("./parse-message.ts");
    return parseEnding(past.header.execution, text);
  }
  const standing = standingOfConversation(past);
  return standing.state === "waiting" ? shownWaiting(standing.waiting, redactor) : undefined;
}

/** What an open call, its program, or a turn that was asked for by `step` waits for. */
interface Waits {
  /** Calls that wait for a person, a client or the host, whether the program does more or not. */
  readonly calls: readonly UnansweredCall[];
  /** The tools of the conversation, or of its program. */
  readonly tools: readonly ToolDigest[];
  readonly execution: ExecutionId | undefined;
  /** What the ids of calls of a program begin with. */
  readonly above: string;
  /** Whether it goes on by itself. */
  readonly goesOn: boolean;
  /** Since when the calls wait for the host, in milliseconds since 1970; missing for calls that the gate has made. */
  readonly hostSince?: number;
}

/** The calls of a conversation and of its programs that wait. The host answers the calls of a turn that it asked for by `step`. */
export function waitingCallsOf({ header, tools, open, outcome, rest }: PastConversation): readonly Waits[] {
  if (outcome) return [];
  const { execution } = header;
  if (rest) return [{ calls: [...open.values()], tools, execution, above: "", goesOn: false, hostSince: rest.at }];
  return [...open.values()].map((call) => {
    const { id, program, driven } = call;
    if (!program) {
      const waits = isWaiting(call) && !isExpired(header, call);
      return { calls: waits ? [call] : [], tools, execution, above: "", goesOn: !waits };
    }
    const { state } = program;
    const goesOn = standingOf(state, driven).state !== "waiting";
    const { execution: own, tools: given = [] } = state.header ?? {};
    return { calls: waitingCalls(state, driven), tools: given, execution: own, above: `${id}/`, goesOn };
  });
}

function waitingOf({ calls, execution, above, hostSince }: Waits, room: ListedRoom): Omit<Waiting, "type"> {
  if (hostSince !== undefined) {
    const waits = calls.map(({ id, tool, inputText }) => ({ callId: String(id), tool, input: jsonOrText(inputText) }));
    return { approvals: [], calls: waits.map((call) => ({ ...call, since: hostSince })) };
  }
  const waiting = waitingFor(calls, execution, room);
  const under = <Call extends { readonly callId: string }>(call: Call) => ({ ...call, callId: above + call.callId });
  return { ...waiting, approvals: waiting.approvals.map(under), calls: waiting.calls.map(under) };
}
