import { monotonic, now, REFUSED_BY_SOURCE } from "../base/index.ts";
import { elsewhere } from "../tools/tool-facts.ts";
import type { Tool } from "../tools/tool.ts";
import type { AnsweredRecord, CallRecord, DecisionRecord, RetryRecord } from "../journal/record.ts";
import type { Failure, Refusal, Value } from "./answer.ts";
import type { DecidedApproval } from "./approve/approval.ts";
import type { Granted } from "./approve/grant-terms.ts";
import type { CallEvent, Untimed } from "./call-event.ts";
import { NamedAddresses } from "./run/named.ts";
import type { CallLine } from "./call-line.ts";
import type { EarlierCall } from "./reuse/earlier-calls.ts";
import type { ParentCall, WorkScope } from "./work-scope.ts";
import type { CallIdentity, ToldCall } from "./open-call.ts";
import type { Streamed } from "./streams/stream-news.ts";
import type { CallSpans } from "./telemetry/telemetry.ts";

/** Stands for the name of an unknown tool if texts are redacted. */
const UNKNOWN_TOOL = "(unknown)";

export interface GateLog {
  /** Whether the journal outlives the process; false by default. */
  readonly isDurable?: boolean;
  /** Resolves once the record is in the journal. An `allowed` record is awaited before the handler runs. */
  append(record: CallRecord | DecisionRecord | RetryRecord): Promise<void>;
  /** Like `append`, for a record that must survive a loss of power. */
  appendSafely(record: CallRecord): Promise<void>;
  /** Journals the record together with the next one that is appended. */
  defer(record: AnsweredRecord | CallRecord | DecisionRecord): void;
  /** Resolves once the decisions and results that others have appended so far are passed to the session. */
  catchUp(): Promise<void>;
}

export interface LedgerParts {
  readonly scope?: Pick<WorkScope, "redactor" | "owner">;
  readonly execution: string;
  readonly log: GateLog;
  readonly onEvent: (event: Untimed<CallEvent>) => void;
  /** The call that started this session. Calls and tokens also count in its session. */
  readonly above?: ParentCall | undefined;
  /** Begins the spans of its calls; missing if nothing records. */
  readonly spans?: CallSpans | undefined;
  /** Calls that earlier drivers of the execution have ended. */
  readonly past?: { readonly lines: readonly CallLine[] } | undefined;
}

/** A call of a program that has ended, which did not come to the session: made in the last turn, or left open by another driver. */
export interface UnmadeCall {
  readonly identity: CallIdentity;
  /** Whether the other driver had started its handler. */
  readonly started: boolean;
  /** What the program was given of its stream. */
  readonly streamed?: Streamed | undefined;
}

/** Inputs that are kept for notes, and characters of each at most. */
const INPUTS_KEPT = 20;
const INPUT_LENGTH = 300;

/** Keeps the facts of a session's calls: records for the journal, lines for the report, events for listeners. */
export class CallLedger {
  readonly lines: CallLine[] = [];
  /** Of calls that may have taken effect and gave no value, by their ids: the first short inputs. None where texts are redacted. */
  readonly inputs = new Map<string, string>();
  readonly #parts: LedgerParts;
  #streamedBytes = 0;
  readonly #named = new NamedAddresses();

  constructor(parts: LedgerParts) {
    this.#parts = parts;
    // There may be more lines than a function takes arguments.
    for (const line of parts.past?.lines ?? []) {
      this.lines.push(line);
      this.#named.add(line.named);
      if (line.items !== undefined && !line.callId.includes("/")) this.#streamedBytes += line.bytes;
    }
  }

  /** Whether a call that has ended, or one before this session, has named the address of this digest. */
  isNamed(digest: string): boolean {
    return this.#named.has(digest) || (this.#parts.above?.session.isNamed(digest) ?? false);
  }

  /** UTF-8 bytes of the items of its own calls' streams. */
  get streamedBytes(): number {
    return this.#streamedBytes;
  }

  /** Resolves once the journal holds the gate's decision. */
  decided(
    { callId, tool, caller }: CallIdentity,
    facts: Pick<CallRecord, "decision" | "code" | "policy" | "earlier">,
    call?: Pick<ToldCall, "tellInput">,
  ): Promise<void> {
    const input = call && this.#inputOf(call);
    return this.#parts.log.append({ type: "call", call: callId, tool, caller, ...facts, ...input, at: now() });
  }

  /** Like `decided` with `allowed`. Before a call that changes something, it also survives a loss of power. */
  allowed(call: ToldCall): Promise<void> {
    const { log } = this.#parts;
    const record = this.#recordOf(call, "allowed");
    return call.decided.effect === "read" ? log.append(record) : log.appendSafely(record);
  }

  /** The call is answered as an earlier call was. Written together with its answer: until then another one could stand for it. */
  reused(call: ToldCall, { at: answeredAt, approval }: EarlierCall): void {
    const { log } = this.#parts;
    const record = this.#recordOf(call, "reused");
    log.defer({ ...record, answeredAt });
    if (approval) log.defer({ type: "decision", ...approval, call: record.call, remembered: approval.call, at: now() });
  }

  /** The record of a call that is made, or that another one stands for. */
  #recordOf(call: ToldCall, decision: "allowed" | "reused") {
    const { identity, decided } = call;
    const { callId, tool, caller } = identity;
    const { effectOf } = call.tool;
    return {
      type: "call",
      call: callId,
      tool,
      caller,
      decision,
      ...this.#inputOf(call),
      ...(effectOf === undefined ? {} : { effect: decided.effect }),
      ...earlierOf(decided),
      at: now(),
    } as const;
  }

  #inputOf(call: Pick<ToldCall, "tellInput">): Pick<CallRecord, "inputDigest" | "input"> {
    const { inputDigest, ...input } = call.tellInput();
    return { inputDigest: this.#parts.scope?.redactor?.digest(inputDigest) ?? inputDigest, ...input };
  }

  /** A call waits for a decision because its approver has failed. */
  undecided({ callId, tool, caller }: CallIdentity, error: unknown): void {
    const { execution, onEvent } = this.#parts;
    onEvent({ type: "call_undecided", execution, callId, tool, caller, error });
  }

  /** Resolves once the journal holds that an attempt has failed, and that the next one follows. */
  retried({ identity, handling }: ToldCall, { code }: Failure, delayMs: number, error: unknown): Promise<void> {
    const { execution, log, onEvent } = this.#parts;
    const { attempt } = handling;
    const { callId, tool, caller } = identity;
    onEvent({ type: "call_retried", execution, callId, tool, caller, attempt, delayMs, error });
    return log.append({ type: "retry", call: callId, attempt, reason: code, delayMs, at: now() });
  }

  /** The returned record is in the journal once `done` resolves. */
  approved(
    { callId }: CallIdentity,
    { type, ...details }: DecidedApproval,
    { remembered, granted }: { readonly remembered?: string; readonly granted?: Granted } = {},
  ) {
    const record: DecisionRecord = {
      type: "decision",
      call: callId,
      allow: type === "approved",
      ...details,
      ...(remembered === undefined ? {} : { remembered }),
      ...(granted && { granted }),
      at: now(),
    };
    return { record, done: this.#parts.log.append(record) };
  }

  catchUp(): Promise<void> {
    return this.#parts.log.catchUp();
  }

  started({ callId, tool, caller }: CallIdentity, called: Tool): void {
    const { execution, onEvent } = this.#parts;
    onEvent({ type: "call_started", execution, callId, tool, caller, ...elsewhere(called) });
  }

  /** Tells how far the stream of a call is. */
  streamed({ identity: { callId, tool, caller }, reader }: AnyCall, streamed = reader?.handed): void {
    const { execution, onEvent } = this.#parts;
    if (streamed) onEvent({ type: "call_streamed", execution, callId, tool, caller, ...streamed });
  }

  /** The call is left to another driver. */
  left({ span, handling, reader }: ToldCall): void {
    const { items, bytes } = begunOf(handling.stream !== undefined, reader?.handed) ?? { bytes: 0 };
    this.#streamedBytes += bytes;
    span?.end({ outcome: "waiting", bytes, items });
  }

  succeeded(call: ToldCall, { bytes, text, items }: Value, shape: string): void {
    const streamed = items === undefined ? undefined : { items, bytes };
    const line = lineOf(call, { bytes, outcome: { type: "value", shape }, started: !call.handling.isReused, streamed });
    const told = this.#answered(call, line, { ok: true, shape, ...(items === undefined ? {} : { items }) });
    // The text of a stream's answer is not its items.
    call.span?.end({ outcome: "value", bytes, items, text: items === undefined ? text : undefined });
    this.#list(told, call);
  }

  failed(call: ToldCall, { code }: Failure, error: unknown): void {
    const { isReused, attempt } = call.handling;
    const isFirst = attempt === 1 && call.decided.effectBefore === undefined;
    const refused = isFirst && REFUSED_BY_SOURCE.get(error as WeakKey) === (call.tool.place ?? "");
    const started = !isReused && !refused;
    const line = lineOf(call, { bytes: 0, outcome: { type: "failed", code }, started, streamed: call.given });
    const { items } = line;
    const facts = { ok: false, code, ...(refused && { refused }), ...(items === undefined ? {} : { items }) };
    const told = this.#answered(call, line, facts);
    call.span?.end({ outcome: "failed", code, bytes: line.bytes, items: line.items });
    if (started) this.#keepInput(call);
    this.#list(told, call, error);
  }

  refused(call: AnyCall, { code }: Refusal, error?: unknown): void {
    const facts = { bytes: 0, outcome: { type: "refused", code }, started: false, streamed: call.given } as const;
    const line = lineOf(call, facts);
    const end = { outcome: "refused", code, bytes: 0 };
    if (call.span) call.span.end(end);
    else this.#parts.spans?.refused({ ...call.identity, ...end, isClients: isOfSurface(this.#parts.scope) });
    // The name of an unknown tool may be any text.
    const isForeign = code === "tool_unknown" && this.#parts.scope?.redactor !== undefined;
    this.#list(isForeign ? { ...line, tool: UNKNOWN_TOOL } : line, call, error);
  }

  aborted(call: ToldCall): void {
    const { started } = call.handling;
    const line = lineOf(call, { bytes: 0, outcome: { type: "aborted" }, started, streamed: call.reader?.handed });
    call.span?.end({ outcome: "aborted", bytes: line.bytes, items: line.items });
    if (started) this.#keepInput(call);
    this.#list(line, call);
  }

  #keepInput({ identity, decided, shownText }: ToldCall): void {
    const isKept = decided.effect !== "read" && this.inputs.size < INPUTS_KEPT && shownText.length <= INPUT_LENGTH;
    if (isKept && !this.#parts.scope?.redactor) this.inputs.set(identity.callId, shownText);
  }

  unmade({ identity, started, streamed }: UnmadeCall): void {
    const call = { identity, since: monotonic() };
    this.#list(lineOf(call, { bytes: 0, outcome: { type: "aborted" }, started, streamed }), call);
  }

  /** Adds a call to the report. A call of a nested execution has both ids, like `call_2/17`. */
  note(line: CallLine): void {
    this.lines.push(line);
    this.#named.add(line.named);
    const { above } = this.#parts;
    above?.session.note({ ...line, callId: `${above.callId}/${line.callId}` });
  }

  /** Journals an answer. Returns its line, with what the handler has given for people. */
  #answered(
    call: ToldCall,
    line: CallLine,
    facts: Pick<AnsweredRecord, "ok" | "code" | "refused" | "shape" | "items">,
  ): CallLine {
    const { callId, ms, bytes } = line;
    const beside = besideOf(call);
    this.#parts.log.defer({ type: "answered", call: callId, ...facts, ...beside?.record, ms, bytes, at: now() });
    return beside ? { ...line, ...beside.line } : line;
  }

  #list(line: CallLine, call: AnyCall, thrown?: unknown): void {
    const error = thrown ?? call.noticed;
    // The approval of a program itself is none of the calls.
    if (call.isCounted !== false) this.note(line);
    if (line.items !== undefined) this.#streamedBytes += line.bytes;
    const { items, bytes } = line;
    const news = items === undefined ? undefined : call.handling?.stream?.takeLastNews({ items, bytes });
    if (news) this.streamed(call, news);
    const { execution, onEvent } = this.#parts;
    onEvent({ type: "call_ended", execution, ...line, ...(error === undefined ? {} : { error }) });
  }
}

/** At a surface the tools are the client's own. */
export function isOfSurface(scope: Pick<WorkScope, "owner"> | undefined): boolean {
  return scope?.owner?.surface !== undefined;
}

/** What the handler has given for people, and what its caller does not get of it; undefined if nothing. */
function besideOf({ handling: { beside } }: ToldCall) {
  const { display, shown, partsLeftOut = 0, named = [] } = beside;
  if (display === undefined && shown === undefined && partsLeftOut === 0 && named.length === 0) return undefined;
  const left = { ...(partsLeftOut > 0 && { partsLeftOut }), ...(named.length > 0 && { named: [...named] }) };
  return {
    record: { ...(display !== undefined && { display }), ...(shown && { shown }), ...left },
    line: { ...(display !== undefined && { display: JSON.parse(display) as unknown }), ...left },
  };
}

/** A call, or what is known of a call that was refused on its arrival. */
type AnyCall = Pick<ToldCall, "identity" | "since"> & Partial<ToldCall>;

interface LineFacts extends Pick<CallLine, "bytes" | "outcome" | "started"> {
  /** Of a stream: what the call ended with. */
  readonly streamed?: Streamed | undefined;
}

function lineOf(call: AnyCall, { bytes, outcome, started, streamed }: LineFacts): CallLine {
  const { identity, since } = call;
  const { callId, tool, caller } = identity;
  const line = { callId, tool, caller, ms: monotonic() - since, bytes, outcome, started };
  const more = unusual(call, started);
  const begun = begunOf(started, streamed);
  return more || begun ? { ...line, ...begun, ...more } : line;
}

function unusual(
  { tool, decided, handling }: Partial<ToldCall>,
  started: boolean,
): Pick<CallLine, "effect" | "attempts" | "from"> | undefined {
  if (!tool || !decided || !handling) return undefined;
  const { effectOf, retry } = tool;
  const earlier = handling.isReused && decided.earlier;
  if (!earlier && (!started || (!effectOf && !retry))) return undefined;
  return {
    ...(effectOf ? { effect: decided.effect } : {}),
    ...(handling.attempt > 1 ? { attempts: handling.attempt } : {}),
    ...(earlier ? { from: { execution: earlier.execution, callId: earlier.call } } : {}),
  };
}

/** The field of a record that names the call of an earlier execution. */
export function earlierOf({ earlier }: ToldCall["decided"]): Pick<CallRecord, "earlier"> {
  return earlier ? { earlier: { execution: earlier.execution, call: earlier.call } } : {};
}

/** A stream that could not go on may have been begun by another driver. */
function begunOf(started: boolean, streamed: Streamed | undefined): Streamed | undefined {
  return started || (streamed && streamed.items > 0) ? streamed : undefined;
}
