import { jsonOrText, now, sumOf } from "../../base/index.ts";
import { FAILURE_CODES, type FailureCode, REFUSAL_CODES, type RefusalCode } from "../../gate/answer.ts";
import { dueAt } from "../../gate/approve/call-waits.ts";
import type { CallLine, CallOutcome } from "../../gate/call-line.ts";
import type { StandIn } from "../../gate/reuse/earlier-calls.ts";
import { shapeOfStream, type StreamProgress } from "../../gate/streams/stream-reader.ts";
import type {
  AnsweredRecord,
  CallRecord,
  DecisionRecord,
  Header,
  JournalRecord,
  ParentRef,
  ResultRecord,
  RetryRecord,
} from "../../journal/record.ts";
import type { Caller, Effect } from "../../tools/tool.ts";

/**
 * What records mean for a call. Drivers, reports, lists, views, events and the command line all read a call by the
 * functions here:
 *
 *   applyToCall    a record about the call changes its facts
 *   isWaiting      it waits for a person or a client
 *   holdOf         which time it waits for a person
 *   isExpired      it has waited for longer than its execution allows
 *   expiryOf       when that is
 *   endOf          how it ended; undefined while it is open
 *   streamedOf     how far the stream is that answers it
 *   CallHistory    all calls of an execution, open and ended
 */

export interface CallFacts {
  ruling?: CallRecord;
  holds?: number;
  /** JSON text of what the tool's schema made of the input; missing if it is as the caller sent it. */
  converted?: string;
  decision?: DecisionRecord;
  /** The client's result, for a call without a handler here. */
  result?: ResultRecord;
  /** Its last attempt that failed and was to be followed by another attempt. */
  retried?: RetryRecord;
  answered?: AnsweredRecord;
  /** Set once the call was given up while its handler ran: it may have taken effect. */
  givenUp?: CallRecord;
  /** Whether a handler was started, by any driver. */
  started?: true;
  /** What the call changes at most, if that depends on its input. */
  effect?: Effect;
  earlier?: ParentRef;
  /** Set if it is answered as `earlier` was. */
  reused?: true;
}

export type RecordOfCall = CallRecord | DecisionRecord | ResultRecord | RetryRecord | AnsweredRecord;

const OF_CALLS: ReadonlySet<string> = new Set<RecordOfCall["type"]>([
  "call",
  "decision",
  "result",
  "retry",
  "answered",
]);

export function isOfCall(record: JournalRecord): record is RecordOfCall & { readonly call: string } {
  return OF_CALLS.has(record.type) && (record as RecordOfCall).call !== undefined;
}

/** Does nothing without a call: its answer was already delivered. */
export function applyToCall(call: CallFacts | undefined, record: RecordOfCall): void {
  if (!call) return;
  switch (record.type) {
    case "call":
      return applyDecided(call, record);
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
      if (record.refused) delete call.started;
      else if (!call.reused) call.started = true;
  }
}

function applyDecided(call: CallFacts, record: CallRecord): void {
  // An answer that was lost with its host is none: the next driver makes the call again.
  delete call.answered;
  delete call.givenUp;
  if (record.input !== undefined) call.converted = record.input;
  if (record.effect !== undefined) call.effect = record.effect;
  if (record.earlier !== undefined) call.earlier = record.earlier;
  if (record.decision === "reused") call.reused = true;
  else delete call.reused;
  if (record.decision === "dropped" && call.ruling?.decision === "allowed") {
    call.givenUp = record;
    return;
  }
  const { input: _input, ...ruling } = record;
  call.ruling = ruling;
  if (record.decision === "allowed") call.started = true;
  if (record.decision !== "held") return;
  // A call whose outcome is unknown is held again, and needs a new decision.
  delete call.decision;
  call.holds = (call.holds ?? 0) + 1;
}

/** Which time a call waits for a decision, from 1. */
export function holdOf({ holds = 1 }: Pick<CallFacts, "holds">): number {
  return holds;
}

export function isWaiting({ ruling, decision, result, answered }: CallFacts): boolean {
  if (answered) return false;
  if (ruling?.decision === "held") return decision === undefined;
  return ruling?.decision === "client" && result === undefined;
}

/** Whether a call has waited for longer than its execution allows. It ends as soon as the execution is driven. */
export function isExpired(header: Pick<Header, "limits"> | undefined, call: CallFacts, at = now()): boolean {
  return isWaiting(call) && expiryOf(header, call) <= at;
}

/** When a call has waited for as long as its execution allows, in milliseconds since 1970. */
export function expiryOf(header: Pick<Header, "limits"> | undefined, { ruling }: CallFacts): number {
  return dueAt(ruling?.at ?? 0, header?.limits.waitMs);
}

export interface RecordedEnd extends Pick<CallLine, "outcome" | "bytes" | "items" | "partsLeftOut" | "named"> {
  /** Milliseconds from the call to its answer; missing if its execution ended before the answer. */
  readonly ms?: number;
  /** What the handler has said to people: JSON text. */
  readonly display?: string;
}

/** How a call ended; undefined while it has no answer. */
function endOf({ ruling, decision, answered, givenUp, at, streamed }: KnownCall): RecordedEnd | undefined {
  if (answered) {
    const { ok, code, bytes, items, shape, display, partsLeftOut, named } = answered;
    // The record counts from when a host took the call up; a person may have decided it long before that.
    const ms = decision ? Math.max(answered.ms, answered.at - at) : answered.ms;
    const outcome: CallOutcome = ok
      ? { type: "value", shape: shape ?? "" }
      : { type: "failed", code: (code ?? "") as FailureCode };
    return { outcome, ms, bytes, items, display, partsLeftOut, named };
  }
  const last = givenUp ?? ruling;
  if (last?.decision !== "refused" && last?.decision !== "dropped") return undefined;
  const outcome: CallOutcome =
    last.decision === "refused" ? { type: "refused", code: (last.code ?? "") as RefusalCode } : { type: "aborted" };
  return { outcome, ms: Math.max(0, last.at - at), ...(streamed ?? { bytes: 0 }) };
}

export function isAnswered(call: CallFacts): boolean {
  return call.answered !== undefined || call.ruling?.decision === "refused";
}

/** A call, from its making on. */
export interface KnownCall extends CallFacts {
  readonly id: string;
  readonly tool: string;
  readonly caller: Caller;
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  /** Of a stream: what the program was given so far. */
  streamed?: StreamProgress;
  end?: RecordedEnd | undefined;
}

export interface CallBegin extends Pick<KnownCall, "id" | "tool" | "caller" | "at"> {
  readonly inputBytes: number;
}

export interface HistoryAnswer {
  readonly ok: boolean;
  /** UTF-8 bytes of its value. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The code that the caller was given, if the answer was none; undefined if the journal does not know it. */
  readonly code: () => string | undefined;
}

function withoutValue(code: string | undefined): CallOutcome {
  const refusal = REFUSAL_CODES.find((one) => one === code);
  if (refusal !== undefined) return { type: "refused", code: refusal };
  const failure = FAILURE_CODES.find((one) => one === code);
  return failure === undefined ? { type: "aborted" } : { type: "failed", code: failure };
}

/** The calls of an execution, as its records tell of them in their order. It keeps no inputs and no results. */
export class CallHistory {
  readonly #calls = new Map<string, KnownCall>();
  readonly #ended = new Set<KnownCall>();
  total = 0;
  inputBytes = 0;

  get size(): number {
    return this.#calls.size;
  }

  /** The calls of earlier executions that stand for calls of this one, each with that call's id. */
  get standIns(): readonly StandIn[] {
    return this.all.flatMap(({ id, earlier, reused = false }) => (earlier ? [{ callId: id, earlier, reused }] : []));
  }

  /** Bytes of results. The items of streams are not among them: they pass through, and count in no budget of the program. */
  get resultBytes(): number {
    return sumOf(this.#ended.values(), ({ end }) => (end?.items === undefined ? (end?.bytes ?? 0) : 0));
  }

  get streamedBytes(): number {
    return sumOf(this.#calls.values(), (call) => streamedOf(call)?.bytes ?? 0);
  }

  /** Calls that have ended, in the order of their ends. */
  get lines(): readonly CallLine[] {
    return [...this.#ended].flatMap((call) => lineOf(call) ?? []);
  }

  /** Calls that it keeps something of, in the order in which they were made. */
  get all(): readonly KnownCall[] {
    return [...this.#calls.values()];
  }

  get(id: string): KnownCall | undefined {
    return this.#calls.get(id);
  }

  make({ inputBytes, ...call }: CallBegin): void {
    this.total += 1;
    this.inputBytes += inputBytes;
    // A journal from elsewhere may make a call twice.
    const before = this.#calls.get(call.id);
    if (before) this.#ended.delete(before);
    this.#calls.set(call.id, call);
  }

  /** Takes what a record says of a call. `madeAt`: when the call was made, if the turn that made it is known. Returns the call; undefined for a record about none. */
  note(record: JournalRecord, madeAt?: number): KnownCall | undefined {
    if (record.type === "outcome")
      for (const open of this.#calls.values())
        if (!open.end) this.#end(open, { outcome: { type: "aborted" }, bytes: 0 });
    if (!isOfCall(record)) return undefined;
    const call = this.#calls.get(record.call) ?? this.#foreign(record, madeAt);
    if (!call) return undefined;
    // There may be a million calls: their inputs are not kept.
    applyToCall(call, record.type === "call" && record.input !== undefined ? { ...record, input: "" } : record);
    if (record.type === "call" || record.type === "answered") this.#end(call, endOf(call));
    return call;
  }

  /** A batch of its stream was handed to the program. Returns the call. */
  stream(id: string, count: number, bytes: number): KnownCall | undefined {
    const call = this.#calls.get(id);
    const { items, bytes: before } = call?.streamed ?? { items: 0, bytes: 0 };
    if (call) call.streamed = { items: items + count, bytes: before + bytes };
    return call;
  }

  /** The program reads no more of its stream. A record of how that ended the call may follow. Returns the call. */
  leave(id: string, at: number): KnownCall | undefined {
    const call = this.#calls.get(id);
    if (!call || call.end) return call;
    const outcome: CallOutcome = call.streamed
      ? { type: "value", shape: shapeOfStream(call.streamed.items, false) }
      : { type: "aborted" };
    this.#end(call, { outcome, ms: Math.max(0, at - call.at), bytes: 0 });
    return call;
  }

  /** The answer was delivered. If no record tells of the call's end, the delivery alone tells of it. Returns the call. */
  tell(id: string, { ok, bytes, at, code }: HistoryAnswer): KnownCall | undefined {
    const call = this.#calls.get(id);
    if (!call) return undefined;
    if (!call.end) {
      const outcome: CallOutcome = ok ? { type: "value", shape: "" } : withoutValue(code());
      this.#end(call, { outcome, ms: Math.max(0, at - call.at), bytes: ok ? bytes : 0 });
    }
    this.keepEnd(id);
    return call;
  }

  /** Keeps of a call that was answered only its end: it may have a client's result, and a program may make a million calls. */
  keepEnd(id: string): void {
    const call = this.#calls.get(id);
    delete call?.ruling;
    delete call?.decision;
    delete call?.holds;
    delete call?.result;
    delete call?.answered;
  }

  forget(call: KnownCall): void {
    this.#calls.delete(call.id);
    this.#ended.delete(call);
  }

  /** A call that was not made by `make`: of a host, of a model, or of a program at a provider. */
  #foreign(record: JournalRecord, madeAt: number | undefined): KnownCall | undefined {
    if (record.type !== "call") return undefined;
    const { call: id, tool, caller, at } = record;
    const call: KnownCall = { id, tool, caller: caller as Caller, at: madeAt ?? at };
    this.#calls.set(id, call);
    return call;
  }

  #end(call: KnownCall, end: RecordedEnd | undefined): void {
    this.#ended.delete(call);
    if (end) this.#ended.add(call);
    // Only the record of an answer tells of the stream by itself.
    call.end = end && call.streamed && end.items === undefined ? { ...end, ...call.streamed } : end;
  }
}

/** How far the stream is that answers a call, or how far it came; undefined if no stream is known to answer it. */
export function streamedOf({ end, streamed }: Pick<KnownCall, "end" | "streamed">): StreamProgress | undefined {
  if (!end) return streamed;
  const { items, bytes } = end;
  return items === undefined ? undefined : { items, bytes };
}

/** A call that has ended, as a report lists it; undefined for an open call. */
export function lineOf({
  id,
  tool,
  caller,
  started,
  effect,
  retried,
  earlier,
  reused,
  end,
}: KnownCall): CallLine | undefined {
  if (!end) return undefined;
  const { outcome, ms, bytes, items, display, partsLeftOut, named } = end;
  return {
    callId: id,
    tool,
    caller,
    started: started === true,
    bytes,
    ms: ms ?? 0,
    outcome,
    items,
    display: display === undefined ? undefined : jsonOrText(display),
    partsLeftOut,
    named,
    effect,
    attempts: retried && retried.attempt + 1,
    from: earlier && reused ? { execution: earlier.execution, callId: earlier.call } : undefined,
  };
}
