import { monotonic, now, REFUSED_BY_SOURCE } from "../base/index.ts";
import { elsewhere } from "../tools/tool-facts.ts";
import type { Tool } from "../tools/tool.ts";
import type { AnsweredRecord, CallRecord, DecisionRecord, RetryRecord } from "../journal/record.ts";
import type { Failure, Refusal, Value } from "./answer.ts";
import type { FinalApproval } from "./approve/approval.ts";
import type { GrantUse } from "./approve/grant-terms.ts";
import type { CallEvent, EventFields } from "./call-event.ts";
import { addNamed } from "./run/named.ts";
import type { CallLine } from "./call-line.ts";
import type { EarlierCall } from "./reuse/earlier-calls.ts";
import type { ParentCall, WorkScope } from "./work-scope.ts";
import type { CallIdentity, OpenCall } from "./open-call.ts";
import type { StreamProgress } from "./streams/stream-reader.ts";
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
  readonly onEvent: (event: EventFields<CallEvent>) => void;
  /** The call that started this session. Calls and tokens also count in its session. */
  readonly above?: ParentCall | undefined;
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
  readonly streamed?: StreamProgress | undefined;
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
  readonly #named = new Set<string>();

  constructor(parts: LedgerParts) {
    this.#parts = parts;
    // There may be more lines than a function takes arguments.
    for (const line of parts.past?.lines ?? []) {
      this.lines.push(line);
      addNamed(this.#named, line.named);
      if (line.items !== undefined && !line.callId.includes("/")) this.#streamedBytes += line.bytes;
    }
  }

  /** Whether a call that has ended, or one before this session, has named the address of this digest. */
  isNamed(digest: string): boolean {
    return this.#named.has(digest) || (this.#parts.above?.session.isNamed(digest) ?? false);
  }

  get streamedBytes(): number {
    return this.#streamedBytes;
  }

  /** Resolves once the journal holds the gate's decision. */
  noteDecision(identity: CallIdentity, facts: Decision, call?: OpenCall): Promise<void> {
    return this.#parts.log.append(this.#record(identity, facts, call));
  }

  /** Like `noteDecision` with `allowed`. Before a call that changes something, it also survives a loss of power. */
  allowed(call: OpenCall): Promise<void> {
    const { log } = this.#parts;
    const record = this.#recordOf(call, "allowed");
    return call.ruling.effect === "read" ? log.append(record) : log.appendSafely(record);
  }

  /** The call is answered as an earlier call was. Written together with its answer: until then another one could stand for it. */
  reused(call: OpenCall, { at: answeredAt, approval }: EarlierCall): void {
    const { log } = this.#parts;
    const record = this.#recordOf(call, "reused");
    log.defer({ ...record, answeredAt });
    if (approval) log.defer({ type: "decision", ...approval, call: record.call, remembered: approval.call, at: now() });
  }

  #recordOf(call: OpenCall, decision: "allowed" | "reused"): CallRecord {
    const { ruling, identity, tool } = call;
    const effect = tool.effectOf && ruling.effect;
    return this.#record(identity, { decision, effect, earlier: earlierOf(ruling) }, call);
  }

  #record({ callId, tool, caller }: CallIdentity, facts: Decision, call: OpenCall | undefined): CallRecord {
    const { inputDigest, ...input } = call?.tellInput() ?? {};
    const digest = inputDigest && (this.#parts.scope?.redactor?.digest(inputDigest) ?? inputDigest);
    return { type: "call", call: callId, tool, caller, ...facts, inputDigest: digest, ...input, at: now() };
  }

  undecided(identity: CallIdentity, error: unknown): void {
    this.#tell({ type: "call_undecided", ...identity, error });
  }

  /** Resolves once the journal holds that an attempt has failed, and that the next one follows. */
  retried({ identity, handling }: OpenCall, { code }: Failure, delayMs: number, error: unknown): Promise<void> {
    const { attempt } = handling;
    this.#tell({ type: "call_retried", ...identity, attempt, delayMs, error });
    return this.#parts.log.append({
      type: "retry",
      call: identity.callId,
      attempt,
      reason: code,
      delayMs,
      at: now(),
    });
  }

  /** The returned record is in the journal once `done` resolves. */
  approved(
    { callId }: CallIdentity,
    { type, ...details }: FinalApproval,
    by: { readonly remembered?: string; readonly granted?: GrantUse } = {},
  ) {
    const record: DecisionRecord = {
      type: "decision",
      call: callId,
      allow: type === "approved",
      ...details,
      ...by,
      at: now(),
    };
    return { record, done: this.#parts.log.append(record) };
  }

  catchUp(): Promise<void> {
    return this.#parts.log.catchUp();
  }

  started(identity: CallIdentity, called: Tool): void {
    this.#tell({ type: "call_started", ...identity, ...elsewhere(called) });
  }

  streamed({ identity, reader }: AnyCall, streamed = reader?.handed): void {
    if (streamed) this.#tell({ type: "call_streamed", ...identity, ...streamed });
  }

  noteWaiting({ span, handling, reader }: OpenCall): void {
    const { items, bytes } = begunOf(handling.stream !== undefined, reader?.handed) ?? { bytes: 0 };
    this.#streamedBytes += bytes;
    span?.end({ outcome: "waiting", bytes, items });
  }

  succeeded(call: OpenCall, { bytes, text, items }: Value, shape: string): void {
    const streamed = items === undefined ? undefined : { items, bytes };
    const outcome = { type: "value", shape } as const;
    const facts = { bytes, outcome, started: !call.handling.isReused, streamed };
    // The text of a stream's answer is not its items.
    this.#ended(call, facts, { ok: true, shape, items }, { text: streamed ? undefined : text });
  }

  failed(call: OpenCall, { code }: Failure, error: unknown): void {
    const { isReused, attempt } = call.handling;
    const isFirst = attempt === 1 && call.ruling.effectBefore === undefined;
    const refused = (isFirst && REFUSED_BY_SOURCE.get(error as WeakKey) === (call.tool.place ?? "")) || undefined;
    const outcome = { type: "failed", code } as const;
    const facts = { bytes: 0, outcome, started: !isReused && !refused, streamed: call.progress };
    this.#ended(call, facts, { ok: false, code, refused }, { error });
  }

  aborted(call: OpenCall): void {
    const { started } = call.handling;
    this.#ended(call, { bytes: 0, outcome: { type: "aborted" }, started, streamed: call.reader?.handed });
  }

  #ended(
    call: OpenCall,
    facts: LineFacts,
    answered?: Pick<AnsweredRecord, "ok" | "code" | "refused" | "shape" | "items">,
    { text, error }: { readonly text?: string | undefined; readonly error?: unknown } = {},
  ): void {
    const line = lineOf(call, facts);
    const { bytes, items, outcome, started } = line;
    const summary = answered ? this.#answered(call, line, { items, ...answered }) : line;
    call.span?.end({ outcome: outcome.type, code: answered?.code, bytes, items, text });
    if (started && outcome.type !== "value") this.#keepInput(call);
    this.#list(summary, call, error);
  }

  refused(call: AnyCall, { code }: Refusal, error?: unknown): void {
    const facts = { bytes: 0, outcome: { type: "refused", code }, started: false, streamed: call.progress } as const;
    const line = lineOf(call, facts);
    // The name of an unknown tool may be any text.
    const isUnknown = code === "tool_unknown";
    const tool = isUnknown ? undefined : call.identity.tool;
    const span =
      call.span ?? this.#parts.spans?.begin({ ...call.identity, tool, isClients: isOfSurface(this.#parts.scope) });
    span?.end({ outcome: "refused", code, bytes: 0 });
    const isForeign = isUnknown && this.#parts.scope?.redactor !== undefined;
    this.#list(isForeign ? { ...line, tool: UNKNOWN_TOOL } : line, call, error);
  }

  #keepInput({ identity, ruling, shownText }: OpenCall): void {
    const isKept = ruling.effect !== "read" && this.inputs.size < INPUTS_KEPT && shownText.length <= INPUT_LENGTH;
    if (isKept && !this.#parts.scope?.redactor) this.inputs.set(identity.callId, shownText);
  }

  unmade({ identity, started, streamed }: UnmadeCall): void {
    const call = { identity, since: monotonic() };
    this.#list(lineOf(call, { bytes: 0, outcome: { type: "aborted" }, started, streamed }), call);
  }

  /** Adds a call to the report. A call of a nested execution has both ids, like `call_2/17`. */
  note(line: CallLine): void {
    this.lines.push(line);
    addNamed(this.#named, line.named);
    const { above } = this.#parts;
    above?.session.note({ ...line, callId: `${above.callId}/${line.callId}` });
  }

  /** Journals an answer. Returns its line, with what the handler has given for people. */
  #answered(
    call: OpenCall,
    line: CallLine,
    facts: Pick<AnsweredRecord, "ok" | "code" | "refused" | "shape" | "items">,
  ): CallLine {
    const { callId, ms, bytes } = line;
    const { display, shown, partsLeftOut, named } = call.handling.extras;
    const extras = { ...(partsLeftOut && { partsLeftOut }), ...(named?.length && { named: [...named] }) };
    const record = {
      type: "answered",
      call: callId,
      ...facts,
      display,
      shown,
      ...extras,
      ms,
      bytes,
      at: now(),
    } as const;
    this.#parts.log.defer(record);
    return { ...line, display: display && (JSON.parse(display) as unknown), ...extras };
  }

  #list(line: CallLine, call: AnyCall, thrown?: unknown): void {
    const error = thrown ?? call.noticed;
    // The approval of a program itself is none of the calls.
    if (call.isCounted !== false) this.note(line);
    if (line.items !== undefined) this.#streamedBytes += line.bytes;
    const { items, bytes } = line;
    const news = items === undefined ? undefined : call.handling?.stream?.takeLastNews({ items, bytes });
    if (news) this.streamed(call, news);
    this.#tell({ type: "call_ended", ...line, ...(error !== undefined && { error }) });
  }

  #tell(event: WithoutExecution<EventFields<CallEvent>>): void {
    const { execution, onEvent } = this.#parts;
    onEvent({ execution, ...event });
  }
}

type WithoutExecution<Event> = Event extends unknown ? Omit<Event, "execution"> : never;

/** At a surface the tools are the client's own. */
export function isOfSurface(scope: Pick<WorkScope, "owner"> | undefined): boolean {
  return scope?.owner?.surface !== undefined;
}

/** A call, or what is known of a call that was refused on its arrival. */
type AnyCall = Pick<OpenCall, "identity" | "since"> & Partial<OpenCall>;

type Decision = Pick<CallRecord, "decision" | "code" | "policy" | "effect" | "earlier">;

interface LineFacts extends Pick<CallLine, "bytes" | "outcome" | "started"> {
  readonly streamed?: StreamProgress | undefined;
}

function lineOf(
  { identity, since, tool, ruling, handling }: AnyCall,
  { bytes, outcome, started, streamed }: LineFacts,
): CallLine {
  const earlier = handling?.isReused && ruling?.earlier;
  return {
    ...identity,
    ms: monotonic() - since,
    bytes,
    outcome,
    started,
    ...begunOf(started, streamed),
    ...((started || earlier) && tool?.effectOf && { effect: ruling?.effect }),
    ...(started && handling && handling.attempt > 1 && { attempts: handling.attempt }),
    ...(earlier && { from: { execution: earlier.execution, callId: earlier.call } }),
  };
}

export function earlierOf({ earlier }: OpenCall["ruling"]): CallRecord["earlier"] {
  return earlier && { execution: earlier.execution, call: earlier.call };
}

/** A stream that could not go on may have been begun by another driver. */
function begunOf(started: boolean, streamed: StreamProgress | undefined): StreamProgress | undefined {
  return started || (streamed && streamed.items > 0) ? streamed : undefined;
}
