import { approverOf } from "../gate/answer.ts";
import type { GuestFrame, HostFrame, UnreplayableCause } from "../../bridge/frames.ts";
import type {
  AnsweredRecord,
  CallRecord,
  DecisionRecord,
  Header,
  JournalRecord,
  ResultRecord,
  RetryRecord,
} from "../journal/record.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";
import { type PastTurn, readingRecord, readTurn } from "./history.ts";

export { RUN_PROGRAM };

/** Id of the call by which a program itself is approved. Ids of a program's own calls are numbers. */
export const PROGRAM_CALL = "program";

/** Why a program cannot be replayed: what it has used, or that its journal was redacted. */
export type Unreplayable = UnreplayableCause | "redaction";

/** Records that a replay gives to a program, or begins with. */
const REPLAYED: ReadonlySet<string> = new Set(["header", "turn", "decision", "result"]);

/** The facts of a call in its records. */
export interface CallFacts {
  /** The gate's latest decision, if it has decided. */
  decided?: CallRecord;
  /** The approver's decision, if one was needed and given. */
  decision?: DecisionRecord;
  /** The client's result, for a call without a handler here. */
  result?: ResultRecord;
  /** Its last attempt that failed and was to be followed by another. */
  retried?: RetryRecord;
  /** Set once the handler has ended. */
  answered?: AnsweredRecord;
}

/** A call of a program or a model that has no answer yet. */
export interface UnansweredCall extends CallFacts {
  readonly id: number | string;
  readonly tool: string;
  /** JSON text. */
  readonly inputText: string;
  /** Of a value that a program keeps: its name. The text is the value. */
  readonly artifact?: string | undefined;
}

/** A call whose answer has not been delivered to the program. */
export interface OpenCall extends UnansweredCall {
  readonly id: number;
}

/** Whether the call has an answer, delivered or not. */
export function isAnswered({ decided, answered }: CallFacts): boolean {
  return answered !== undefined || decided?.decision === "refused";
}

/** The part of an event that changes the state. */
export type EventHead =
  | { readonly kind: "start" | "stop"; readonly now: number }
  | { readonly kind: "fire"; readonly now: number; readonly id: number }
  | {
      readonly kind: "answer";
      readonly now: number;
      readonly id: number;
      /** UTF-8 bytes of the result that it hands to the program; 0 for a failure. */
      readonly resultBytes: number;
    };

/** Totals of a program's connections to hosts outside its sandbox, refused ones included. Bytes are of all connections together. */
export interface ConnectionTotals {
  readonly count: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

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
export interface ExecutionState {
  header: Header | undefined;
  /** Number of records applied. */
  records: number;
  turns: number;
  /** Turns since the last claim or restart; 0 means no progress since then. */
  turnsSinceStart: number;
  /** The guest's clock, in milliseconds since 1970; 0 before the first turn. */
  now: number;
  readonly calls: Map<number, OpenCall>;
  /** The approval of the program itself, where it needs one before it starts. */
  program: Omit<OpenCall, "id"> | undefined;
  readonly timers: Map<number, OpenTimer>;
  /** The first thing the program used that a replay cannot reproduce. */
  unreplayable: Unreplayable | undefined;
  connections: ConnectionTotals;
  /** UTF-8 bytes of the results that the program was handed. */
  seenBytes: number;
  restarts: number;
  /** Whether a driver has taken the execution up since the last turn. */
  isTakenUp: boolean;
  /** Whether the driver that has taken it up since then has given the program the turn. */
  isHanded: boolean;
  /** Drivers that lost it since then while the program had the turn, and of which nothing was heard. */
  readonly silent: Set<string>;
  /** The latest claim's driver. */
  driver: string | undefined;
  /** Span of the latest driver that had one. */
  trace: string | undefined;
  /** Whether the program was sent a `stop` event. */
  stopped: boolean;
  /** The program's `settled` frame. */
  settled: (GuestFrame & { readonly kind: "settled" }) | undefined;
  /** JSON text of the ending. */
  outcome: string | undefined;
}

export function initialState(): ExecutionState {
  return {
    header: undefined,
    records: 0,
    turns: 0,
    turnsSinceStart: 0,
    now: 0,
    calls: new Map(),
    program: undefined,
    timers: new Map(),
    unreplayable: undefined,
    connections: NO_CONNECTIONS,
    seenBytes: 0,
    restarts: 0,
    isTakenUp: false,
    isHanded: false,
    silent: new Set(),
    driver: undefined,
    trace: undefined,
    stopped: false,
    settled: undefined,
    outcome: undefined,
  };
}

/** The state after all these records. Throws `journal_invalid` for a turn that cannot be read. */
export function foldExecution(records: readonly JournalRecord[]): ExecutionState {
  const state = initialState();
  for (const record of records) readingRecord(state.header?.execution, state.records, () => applyRecord(state, record));
  return state;
}

/** Applies one record. Throws `journal_invalid` for a turn that cannot be read. */
export function applyRecord(state: ExecutionState, record: JournalRecord): void {
  if ("redacted" in record && record.redacted !== undefined && REPLAYED.has(record.type))
    state.unreplayable ??= "redaction";
  switch (record.type) {
    case "turn": {
      return applyTurn(state, readTurn(record));
    }
    case "header":
      state.header = record;
      state.trace = record.trace;
      if (record.kind === "program" && record.needsApproval) {
        const { source, language } = record;
        state.program = { tool: RUN_PROGRAM, inputText: JSON.stringify({ source, language }) };
      }
      break;
    case "claim":
      if (state.isHanded && state.driver !== undefined) state.silent.add(state.driver);
      state.driver = record.driver;
      state.trace = record.trace ?? state.trace;
      state.isTakenUp = true;
      state.isHanded = false;
      state.turnsSinceStart = 0;
      break;
    case "hand":
      state.isHanded = record.to === "program";
      break;
    case "alive":
      state.silent.delete(record.driver);
      break;
    case "restart":
      state.restarts += 1;
      state.turnsSinceStart = 0;
      break;
    case "call":
    case "decision":
    case "result":
    case "answered":
      applyToCall(record.call === PROGRAM_CALL ? state.program : state.calls.get(Number(record.call)), record);
      break;
    case "egress":
      state.unreplayable ??= "network";
      state.connections = {
        count: state.connections.count + 1,
        bytesUp: state.connections.bytesUp + record.bytesUp,
        bytesDown: state.connections.bytesDown + record.bytesDown,
      };
      break;
    case "outcome":
      state.outcome = record.outcome;
      break;
    case "rest":
    case "model":
    case "tools":
    case "compact":
    case "artifact":
      break;
    case "retry":
      if (record.call !== undefined) applyToCall(state.calls.get(Number(record.call)), record);
      break;
    case "message":
    case "violation":
      break;
  }
  state.records += 1;
}

/** Applies a turn whose frames are already parsed: first its event, then its commands. */
export function applyTurn(state: ExecutionState, { event, commands }: PastTurn): void {
  beginTurn(state, headOf(event));
  for (const command of commands) applyCommand(state, command);
}

/** The part of a frame that changes the state. */
export function headOf(event: HostFrame): EventHead {
  if (event.kind !== "answer") return event;
  const { kind, now, id, ok, body } = event;
  return { kind, now, id, resultBytes: ok ? Buffer.byteLength(body) : 0 };
}

/** Applies a turn's event. Its commands follow with `applyCommand`. */
export function beginTurn(state: ExecutionState, event: EventHead): void {
  state.records += 1;
  state.turns += 1;
  state.turnsSinceStart += 1;
  state.isTakenUp = false;
  state.isHanded = false;
  state.silent.clear();
  state.now = Math.max(state.now, event.now);
  if (event.kind === "answer") {
    state.calls.delete(event.id);
    state.seenBytes += event.resultBytes;
  } else if (event.kind === "fire") state.timers.delete(event.id);
  else if (event.kind === "stop") {
    state.stopped = true;
    state.calls.clear();
  }
}

/** Applies one command of the turn that began last. */
export function applyCommand(state: ExecutionState, command: GuestFrame): void {
  switch (command.kind) {
    case "call":
      state.calls.set(command.id, {
        id: command.id,
        tool: command.tool,
        inputText: command.body,
        ...(command.name === undefined ? {} : { artifact: command.name }),
      });
      return;
    case "timer":
      state.timers.set(command.id, { id: command.id, ms: command.ms, setAt: state.now });
      return;
    case "clear":
      state.timers.delete(command.id);
      return;
    case "unreplayable":
      state.unreplayable ??= command.cause;
      return;
    case "settled":
      state.settled = command;
      return;
    case "output":
    case "ready":
    case "turn_end":
  }
}

/** Does nothing without an open call: its answer was already delivered. */
export function applyToCall(
  call: CallFacts | undefined,
  record: CallRecord | DecisionRecord | ResultRecord | RetryRecord | AnsweredRecord,
): void {
  if (!call) return;
  switch (record.type) {
    case "call":
      // A call that was given up while its handler ran may have taken effect.
      if (record.decision === "dropped" && call.decided?.decision === "allowed") return;
      call.decided = record;
      // A call whose outcome is unknown is held again, and needs a decision of its own.
      if (record.decision === "held") delete call.decision;
      return;
    // The first decision and the first result count.
    case "decision":
      call.decision ??= record;
      return;
    case "result":
      call.result ??= record;
      return;
    case "retry":
      call.retried = record;
      return;
    case "answered":
      call.answered = record;
  }
}

/** Who approved the program itself; undefined where it needed no approval. */
export function approverOfProgram({ program }: ExecutionState): string | undefined {
  return program?.decision?.allow ? approverOf(program.decision) : undefined;
}
