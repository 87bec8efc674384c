import { now, PortcullisError, type SlicedWork } from "../../base/index.ts";
import { approverOf, HOST_CALL } from "../../gate/answer.ts";
import { refText } from "../../gate/reuse/earlier-calls.ts";
import type { StreamPast } from "../../gate/streams/past-items.ts";
import type { GuestFrame, HostFrame } from "../../../bridge/frames.ts";
import { IDS_SKIPPED } from "../../../bridge/turn-reader.ts";
import type { Header, JournalRecord, TurnRecord } from "../../journal/record.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { ConnectionTotals, Unreplayable } from "../outcome.ts";
import { applyToCall, type CallFacts, isOfCall, isWaiting, type RecordOfCall } from "./call-history.ts";
import { eachSliced, type PastTurn, readTurn, readTurnSliced } from "./read-turns.ts";

/** Id of the call by which a program itself is approved. Ids of a program's own calls are numbers. */
export const PROGRAM_APPROVAL = "program";

export function isApprovalOfProgram({ callId, tool }: { readonly callId: string; readonly tool: string }): boolean {
  return callId === PROGRAM_APPROVAL && tool === RUN_PROGRAM;
}

/** Records that a replay gives to a program, or begins with. */
const REPLAYED: ReadonlySet<string> = new Set(["header", "turn", "decision", "result"]);

/** A call of a program or a model that has no answer yet. */
export interface UnansweredCall extends CallFacts {
  readonly id: number | string;
  readonly tool: string;
  /** JSON text. */
  readonly inputText: string;
  /** The name of the value that the call keeps, if it keeps a value. The input's text is then the value. */
  readonly artifact?: string | undefined;
}

/** JSON text of the input that the handler is given. */
export function shownText({ converted, inputText }: UnansweredCall): string {
  return converted ?? inputText;
}

export interface RecordedOpenCall extends UnansweredCall {
  readonly id: number;
  /** What the program was handed of the stream that answers it. */
  streamed?: StreamPast;
}

export type EventHead =
  | { readonly kind: "start" | "stop"; readonly now: number }
  | { readonly kind: "fire"; readonly now: number; readonly id: number }
  | {
      readonly kind: "answer";
      readonly now: number;
      readonly id: number;
      /** UTF-8 bytes of the result that it hands to the program; 0 for a failure. */
      readonly resultBytes: number;
    }
  | {
      readonly kind: "items";
      readonly now: number;
      readonly id: number;
      readonly count: number;
      readonly bytes: number;
      readonly isKept: boolean;
    };

/** What a program has used, by all its drivers: times in milliseconds, bytes, and a count, as a report's `usage` has them. */
export interface Usage {
  readonly queuedMs: number;
  readonly cpuMs: number;
  /** Time since there was a guest, without `approvalMs` and without the time between two drivers. */
  readonly wallMs: number;
  /** Time in which the program waited for nothing but people and clients, between two drivers too. It is not in `wallMs`. */
  readonly approvalMs: number;
  readonly peakMemoryBytes: number;
  /** How often the program gave its guest up while it waited. */
  readonly evictions: number;
}

export const NOTHING_STREAMED: StreamPast = { items: 0, bytes: 0, batches: 0, asked: 0 };

export const NO_CONNECTIONS: ConnectionTotals = { count: 0, bytesUp: 0, bytesDown: 0 };

export interface OpenTimer {
  readonly id: number;
  /** Delay in milliseconds from `setAt`. */
  readonly ms: number;
  /** The guest's clock when it was set, in milliseconds since 1970. */
  readonly setAt: number;
}

/**
 * The state of an execution, derived from its journal. The driver updates it with each record. A driver that takes over
 * the execution, a viewer and an export derive the same state from the records.
 */
export class ExecutionState {
  header: Header | undefined;
  records = 0;
  turns = 0;
  /** Turns since the last claim or restart; 0 means no progress since then. */
  turnsSinceStart = 0;
  restarts = 0;
  /** Changes that were taken over from the executions before it, as `refText`. */
  readonly takenOver = new Set<string>();
  /** The guest's clock, in milliseconds since 1970; 0 before the first turn. */
  now = 0;
  /** The first id of a call or a timer, and how many there were. */
  readonly ids = { first: 0, count: 0 };
  readonly calls = new Map<number, RecordedOpenCall>();
  /** Number of open calls that wait for a person or a client. */
  waiting = 0;
  /** The call that the execution itself is: the approval of a program that needs one before it starts, or the call of a host. */
  own: UnansweredCall | undefined;
  readonly timers = new Map<number, OpenTimer>();
  /** The first thing the program used that a replay cannot reproduce. */
  unreplayable: Unreplayable | undefined;
  trace: string | undefined;
  /** The drivers of the execution, as far as the next one has to know them. */
  readonly drivers = {
    latest: undefined as string | undefined,
    /** Whether a driver has taken the execution up since the last turn. */
    isTakenUp: false,
    /** Whether the latest driver that took the execution up since the last turn has given the program the turn. */
    isHanded: false,
    /** Drivers that lost the execution since the last turn while the program had the turn, and that have not said since that they live. */
    silent: new Set<string>(),
  };
  readonly used = {
    /** Up to its last turn: numbers of `Usage`, by their names. */
    noted: {} as Readonly<Record<string, number>>,
    /** Time since the last turn in which the program waited for people and clients alone, in milliseconds. */
    waitedMs: 0,
    /** Since when the program has waited for people and clients alone, in milliseconds since 1970. */
    waitsSince: undefined as number | undefined,
    connections: NO_CONNECTIONS,
    /** UTF-8 bytes of the results that the program was handed. */
    seenBytes: 0,
    /** UTF-8 bytes of the batches of streams that the journal holds. */
    keptItemsBytes: 0,
  };
  /** How a program comes to its end: it settles or is stopped, and then there is an outcome. */
  readonly end = {
    stopped: false,
    settled: undefined as (GuestFrame & { readonly kind: "settled" }) | undefined,
    outcome: undefined as string | undefined,
  };
}

export function applyHeader(state: ExecutionState, header: Header): void {
  state.header = header;
  state.records += 1;
  state.trace = header.trace;
  if (header.kind === "program" && header.needsApproval) {
    const { source, language } = header;
    state.own = { id: PROGRAM_APPROVAL, tool: RUN_PROGRAM, inputText: JSON.stringify({ source, language }) };
  }
  if (header.kind === "call") state.own = { id: HOST_CALL, tool: header.tool, inputText: header.input };
}

/** Applies one record. `turn` is its turn, if that was parsed before. Throws `journal_invalid` for a turn that cannot be read. */
export function applyRecord(state: ExecutionState, record: JournalRecord, turn?: PastTurn): void {
  noteRedacted(state, record);
  const { drivers, used } = state;
  switch (record.type) {
    case "turn":
      return applyTurn(state, turn ?? readTurn(record), record.usage);
    case "header":
      return applyHeader(state, record);
    case "claim":
      if (drivers.isHanded && drivers.latest !== undefined) drivers.silent.add(drivers.latest);
      drivers.latest = record.driver;
      state.trace = record.trace ?? state.trace;
      drivers.isTakenUp = true;
      drivers.isHanded = false;
      state.turnsSinceStart = 0;
      break;
    case "hand":
      drivers.isHanded = record.to === "program";
      break;
    case "alive":
      drivers.silent.delete(record.driver);
      break;
    case "restart":
      state.restarts += 1;
      state.turnsSinceStart = 0;
      break;
    case "egress":
      state.unreplayable ??= "network";
      used.connections = {
        count: used.connections.count + 1,
        bytesUp: used.connections.bytesUp + record.bytesUp,
        bytesDown: used.connections.bytesDown + record.bytesDown,
      };
      break;
    case "earlier":
      state.takenOver.add(refText(record.earlier));
      break;
    case "outcome":
      state.end.outcome = record.outcome;
      break;
    default:
      if (isOfCall(record)) applyToOpen(state, record.call, record);
  }
  state.records += 1;
  if ("at" in record) noteWait(state, record.at);
}

export function waitsOnly({ turns, calls, waiting, own, timers, end }: ExecutionState): boolean {
  if (turns === 0) return own !== undefined && isWaiting(own);
  return calls.size > 0 && waiting === calls.size && timers.size === 0 && !end.settled && !end.stopped;
}

function noteWait(state: ExecutionState, at: number): void {
  const { used, end } = state;
  const { waitsSince: since } = used;
  const waits = end.outcome === undefined && waitsOnly(state);
  if (waits) used.waitsSince ??= at;
  if (waits || since === undefined) return;
  used.waitedMs += Math.max(0, at - since);
  used.waitsSince = undefined;
}

/** Numbers of a program's use, each as the function gives it. */
export function usageBy(of: (name: keyof Usage) => number): Usage {
  const names = ["queuedMs", "cpuMs", "wallMs", "approvalMs", "peakMemoryBytes", "evictions"] as const;
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<keyof Usage, number>;
}

/** What the program has used so far, by all its drivers. A wait counts to its end, or to now. */
export function usedBy({ used }: ExecutionState): Usage {
  const { noted, waitedMs, waitsSince } = used;
  const of = (name: keyof Usage) => Math.max(0, noted[name] ?? 0);
  const waits = waitsSince === undefined ? 0 : Math.max(0, now() - waitsSince);
  return { ...usageBy(of), approvalMs: of("approvalMs") + waitedMs + waits };
}

/** Ends a turn whose commands are applied. `usage` is what the turn notes as used. */
export function endTurn(state: ExecutionState, usage: TurnRecord["usage"]): void {
  // A wait that the turn ends is in the usage already.
  noteWait(state, state.now);
  if (!usage) return;
  state.used.noted = usage;
  state.used.waitedMs = 0;
}

function noteRedacted(state: ExecutionState, record: JournalRecord): void {
  const isReplayed = REPLAYED.has(record.type) || (record.type === "call" && record.input !== undefined);
  if ("redacted" in record && record.redacted !== undefined && isReplayed) state.unreplayable ??= "redaction";
}

function applyToOpen(state: ExecutionState, id: string, record: RecordOfCall): void {
  if (id === state.own?.id) return applyToCall(state.own, record);
  const call = callOfId(state, id);
  if (!call) return;
  const waited = isWaiting(call);
  applyToCall(call, record);
  state.waiting += Number(isWaiting(call)) - Number(waited);
}

/** The open call that records name by this id: "01" is none. */
export function callOfId({ calls }: Pick<ExecutionState, "calls">, id: string): RecordedOpenCall | undefined {
  const call = calls.get(Number(id));
  return call && String(call.id) === id ? call : undefined;
}

/** Applies a turn whose frames are already parsed: first its event, then its commands. */
function applyTurn(state: ExecutionState, { event, commands }: PastTurn, usage: TurnRecord["usage"]): void {
  beginTurn(state, eventHead(event));
  for (const command of commands) applyCommand(state, command);
  endTurn(state, usage);
}

export interface TurnListener {
  readonly event: (event: HostFrame) => void;
  readonly command: (command: GuestFrame) => void;
}

/** Applies one record in slices: a turn may have a hundred thousand commands. Throws like `applyRecord`. */
export function* applySliced(state: ExecutionState, record: JournalRecord, listener?: TurnListener): SlicedWork<void> {
  if (record.type !== "turn") return applyRecord(state, record);
  noteRedacted(state, record);
  const { event, commands } = yield* readTurnSliced(record);
  beginTurn(state, eventHead(event));
  listener?.event(event);
  yield* eachSliced(commands, (command) => {
    applyCommand(state, command);
    listener?.command(command);
  });
  endTurn(state, record.usage);
}

export function eventHead(event: HostFrame): EventHead {
  if (event.kind === "items") {
    const { kind, now, id, count, bytes, body } = event;
    return { kind, now, id, count, bytes, isKept: body !== undefined };
  }
  if (event.kind !== "answer") return event;
  const { kind, now, id, ok, body } = event;
  return { kind, now, id, resultBytes: ok ? Buffer.byteLength(body) : 0 };
}

/** Applies a turn's event. Its commands follow with `applyCommand`. */
export function beginTurn(state: ExecutionState, event: EventHead): void {
  const { drivers } = state;
  state.records += 1;
  state.turns += 1;
  state.turnsSinceStart += 1;
  drivers.isTakenUp = false;
  drivers.isHanded = false;
  drivers.silent.clear();
  state.now = Math.max(state.now, event.now);
  if (event.kind === "answer") {
    const call = state.calls.get(event.id);
    if (call && isWaiting(call)) state.waiting -= 1;
    state.calls.delete(event.id);
    state.used.seenBytes += event.resultBytes;
  } else if (event.kind === "items") applyItems(state, event);
  else if (event.kind === "fire") state.timers.delete(event.id);
  else if (event.kind === "stop") {
    state.end.stopped = true;
    state.calls.clear();
    state.waiting = 0;
  }
}

function applyItems(state: ExecutionState, { id, count, bytes, isKept }: EventHead & { readonly kind: "items" }): void {
  state.used.seenBytes += bytes;
  if (isKept) state.used.keptItemsBytes += bytes;
  else state.unreplayable ??= "stream";
  const call = state.calls.get(id);
  if (!call) return;
  const { items, bytes: before, batches, asked } = call.streamed ?? NOTHING_STREAMED;
  call.streamed = { items: items + count, bytes: before + bytes, batches: batches + 1, asked };
}

/** Throws `journal_invalid` for an id that no guest may use: see `TurnReader`. */
function noteId({ ids }: ExecutionState, id: number): void {
  if (ids.count === 0) ids.first = id;
  ids.count += 1;
  if (Math.abs(id - ids.first) > 2 * ids.count + IDS_SKIPPED)
    throw new PortcullisError("journal_invalid", `The journal holds the id ${id}: it skips too many.`);
}

export function applyCommand(state: ExecutionState, command: GuestFrame): void {
  switch (command.kind) {
    case "call":
      noteId(state, command.id);
      state.calls.set(command.id, {
        id: command.id,
        tool: command.tool,
        inputText: command.body,
        artifact: command.name,
      });
      return;
    case "timer":
      noteId(state, command.id);
      state.timers.set(command.id, { id: command.id, ms: command.ms, setAt: state.now });
      return;
    case "clear":
      state.timers.delete(command.id);
      return;
    case "next": {
      const call = state.calls.get(command.id);
      if (call?.streamed) call.streamed = { ...call.streamed, asked: call.streamed.asked + 1 };
      return;
    }
    case "cancel": {
      const call = state.calls.get(command.id);
      if (call && isWaiting(call)) state.waiting -= 1;
      state.calls.delete(command.id);
      return;
    }
    case "unreplayable":
      state.unreplayable ??= command.cause;
      return;
    case "settled":
      state.end.settled = command;
      return;
    default:
  }
}

/** Who approved the program itself; undefined if it needed no approval. */
export function approverOfProgram({ own }: ExecutionState): string | undefined {
  return own?.decision?.allow ? approverOf(own.decision) : undefined;
}
