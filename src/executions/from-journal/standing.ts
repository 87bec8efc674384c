import { now, parsedJson, PortcullisError } from "../../base/index.ts";
import { holdOf, isExpired, isWaiting } from "./call-history.ts";
import { type ExecutionState, shownText, type UnansweredCall, waitsOnly } from "./execution-state.ts";
import type { Unreplayable, Waiting, WaitingApproval, WaitingCall } from "../outcome.ts";

/**
 * How an execution stands, in the one word that lists, reports, views, events, the command line, recoveries and drivers
 * have for it:
 *
 *   running   it goes on by itself: its driver has it, or the next driver goes on with it or ends it
 *   waiting   only a person's decisions or clients' results bring it further
 *   ended     it has an outcome
 */
export type Standing =
  | { readonly state: "running" | "ended" }
  | {
      readonly state: "waiting";
      readonly calls: readonly UnansweredCall[];
      /** Why it waits only as long as its driver lives: no other driver could go on with it. */
      readonly held?: Held;
    };

/** Why no other driver can go on: what the program has used, or that the call of a host is for its host alone. */
export type Held = Unreplayable | "host";

/** `driven`: whether a driver has it. `at` is in milliseconds since 1970. */
export function standingOf(state: ExecutionState, driven: boolean, at = now()): Standing {
  if (state.end.outcome !== undefined) return { state: "ended" };
  const held = heldBy(state);
  if (!waitsOnly(state) || (held !== undefined && !driven)) return { state: "running" };
  const calls = openCalls(state);
  if (calls.some((call) => isExpired(state.header, call, at))) return { state: "running" };
  return { state: "waiting", calls, held };
}

/** The calls that wait for a person or a client, whether the execution does more or not. */
export function waitingCalls(state: ExecutionState, driven: boolean): readonly UnansweredCall[] {
  if (state.end.outcome !== undefined || (heldBy(state) !== undefined && !driven)) return [];
  return openCalls(state).filter((call) => isWaiting(call) && !isExpired(state.header, call));
}

/** What an execution waits for; undefined if it does not wait. Throws `journal_invalid` for an input that is not JSON. */
export function waitingIn(standing: Standing, { header }: Pick<ExecutionState, "header">): Waiting | undefined {
  return standing.state === "waiting" ? waitingFor(standing.calls, header?.execution) : undefined;
}

/** The calls of the program that have no answer, or the call that the execution itself is, before the program starts. */
export function openCalls({ turns, calls, own }: ExecutionState): readonly UnansweredCall[] {
  if (turns > 0) return [...calls.values()];
  return own ? [own] : [];
}

function heldBy({ header, unreplayable }: ExecutionState): Held | undefined {
  return unreplayable ?? (header?.kind === "call" ? "host" : undefined);
}

/** Characters of inputs that are listed together of what waits, and what a call counts for beside its input. */
const LISTED_LENGTH = 256 * 1024;
const CALL_LENGTH = 64;

/** Room for the calls that are listed together. Their inputs are parsed at once, and held by whoever has asked for the list. */
export class ListedRoom {
  #budget = LISTED_LENGTH;

  /** Whether a call is listed. The first is, however long: the gate has bounded its input. After one that is not, none is. */
  take({ inputText, converted }: UnansweredCall): boolean {
    const length = CALL_LENGTH + inputText.length + (converted?.length ?? 0);
    const fits = this.#budget === LISTED_LENGTH || length <= this.#budget;
    this.#budget = fits ? this.#budget - length : 0;
    return fits;
  }
}

/** Sorts waiting calls into approvals and calls of clients. Throws `journal_invalid` for an input that is not JSON. */
export function waitingFor(open: readonly UnansweredCall[], execution = "", room = new ListedRoom()): Waiting {
  const waiting = open.filter(({ ruling }) => ruling?.decision === "held" || ruling?.decision === "client");
  const approvals: WaitingApproval[] = [];
  const calls: WaitingCall[] = [];
  for (const call of waiting) {
    const { id, tool, ruling, converted } = call;
    if (!ruling || !room.take(call)) break;
    const about = {
      callId: String(id),
      tool,
      input: parse(shownText(call), execution, id),
      rawInput: converted === undefined ? undefined : parse(call.inputText, execution, id),
      since: ruling.at,
    };
    if (ruling.decision === "client") calls.push(about);
    else {
      const why = ruling.code === "outcome_unknown" ? "outcome_unknown" : "approval";
      approvals.push({ ...about, inputDigest: ruling.inputDigest ?? "", why, hold: holdOf(call) });
    }
  }
  const more = waiting.length - approvals.length - calls.length;
  return { type: "waiting", approvals, calls, more: more || undefined };
}

/** The gate has checked that the input is JSON before it held the call, but a journal may come from elsewhere. */
function parse(text: string, execution: string, id: number | string): unknown {
  const input = parsedJson(text);
  if (input !== undefined) return input;
  throw new PortcullisError(
    "journal_invalid",
    `Execution ${JSON.stringify(execution)}: the input of call ${id}, which waits, is not JSON. Restore the journal from a backup, or import it again.`,
  );
}
