import type { GuestFrame, HostFrame } from "../../../bridge/frames.ts";
import type { FailureCode } from "../../gate/answer.ts";
import { type EarlierAnswer, type EarlierCall, keyOf, refText } from "../../gate/reuse/earlier-calls.ts";
import { type PastArtifact, pastArtifact } from "../../journal/artifact-space.ts";
import type { EarlierRecord, JournalRecord, ProgramHeader, ToolDigest } from "../../journal/record.ts";
import { type HeldOverdraft, type Share, type SlicedWork } from "../../base/index.ts";
import { canonicalDigest } from "../../gate/run/canonical-json.ts";
import { CallHistory, type KnownCall } from "./call-history.ts";
import { applyRecord, applySliced, ExecutionState, type TurnListener } from "./execution-state.ts";
import { readingSliced } from "./read-turns.ts";

/** Codes of failures after which a handler has done nothing, as far as it says itself. After all others it may have taken effect. */
const NOTHING_DONE: ReadonlySet<FailureCode> = new Set(["handler_failed"]);

interface CallEntry {
  readonly position: number;
  /** Of its tool and its input; undefined if nothing can be equal to it. */
  readonly key: string | undefined;
  /** Whether the journal may not have the input as it was. */
  readonly isHidden: boolean;
  answeredAt?: number;
  hasDisplay?: boolean;
  /** Indexes of the turns with batches of its stream; undefined once the journal does not have all of them as they were. */
  batches: number[] | undefined;
  items: number;
  answer?: EarlierAnswer | undefined;
}

/** What a call takes in memory while it can stand for another one, in bytes: measured, and rounded up. */
const CALL_BYTES = 768;

/** Takes the records of an execution that has ended, and tells which of its calls can stand for calls of a program that corrects it. */
export class EarlierFold {
  readonly #source: string;
  readonly #share: Share;
  readonly #state = new ExecutionState();
  readonly #history = new CallHistory();
  readonly #entries = new Map<string, CallEntry>();
  readonly #claims = new Map<string, EarlierCall>();
  readonly artifacts: PastArtifact[] = [];
  readonly #tools = new Map<string, ToolDigest>();
  #called: (GuestFrame & { readonly kind: "call" })[] = [];
  #isRedacted = false;
  /** The exceeded limit, once there is no room for more calls. */
  overdraft: HeldOverdraft | undefined;
  readonly #listener: TurnListener = {
    event: (event) => this.#takeEvent(event),
    command: (command) => this.#takeCommand(command),
  };

  /** Its calls are held in the share until that ends. The source is the execution whose records it takes. */
  constructor(source: string, share: Share) {
    this.#source = source;
    this.#share = share;
  }

  /** What it was to correct, if it never began: its journal may lack what it was to take over. */
  get unbegun(): ProgramHeader["corrects"] {
    const { header, turns } = this.#state;
    return header?.kind === "program" && turns === 0 ? header.corrects : undefined;
  }

  take(record: JournalRecord): SlicedWork<void> {
    return readingSliced(this.#state.header?.execution, this.#state.records, this.#take(record));
  }

  *#take(record: JournalRecord): SlicedWork<void> {
    const state = this.#state;
    this.#isRedacted = "redacted" in record && record.redacted !== undefined;
    if (record.type === "turn") {
      yield* applySliced(state, record, this.#listener);
      yield* this.#make();
      return;
    }
    if (record.type === "artifact") this.artifacts.push(pastArtifact(record, state.records));
    if (record.type === "header") for (const tool of record.tools) this.#tools.set(tool.name, tool);
    if (record.type === "earlier" && this.#hasRoom())
      this.#claims.set(refText(record.earlier), this.#takenOver(record));
    const entry = record.type === "answered" ? this.#entries.get(record.call) : undefined;
    if (entry && record.type === "answered") {
      entry.answeredAt = state.records;
      entry.hasDisplay = record.display !== undefined;
    }
    applyRecord(state, record);
    this.#history.note(withoutTexts(record));
  }

  #hasRoom(): boolean {
    this.overdraft ??= this.#share.hold(CALL_BYTES);
    return this.overdraft === undefined;
  }

  #takenOver({ earlier, tool, key, effect, isHidden, value, approval, at, ...rest }: EarlierRecord): EarlierCall {
    const { bytes, shape, partsLeftOut, named } = rest;
    const isKnown = value !== undefined && !this.#isRedacted;
    const places = { records: [this.#state.records], isStream: false, display: undefined };
    const answer = isKnown ? { bytes, shape, partsLeftOut, named, ...places } : undefined;
    // It is not known what this execution has read before it.
    const order = { position: 0, ended: Infinity };
    return { ...earlier, source: this.#source, tool, key, effect, ...order, at, answer, isHidden, approval };
  }

  #takeCommand(command: GuestFrame): void {
    if (command.kind === "call") this.#called.push(command);
    // A stream that was left has no end that could be given again.
    const entry = command.kind === "cancel" ? this.#entries.get(String(command.id)) : undefined;
    if (entry) entry.batches = undefined;
  }

  *#make(): SlicedWork<void> {
    const called = this.#called;
    this.#called = [];
    for (const { id, tool, body } of called) {
      if (!this.#hasRoom()) return;
      const definition = this.#tools.get(tool)?.digest;
      const input = definition === undefined ? undefined : yield* canonicalDigest(body);
      const key = input === undefined || definition === undefined ? undefined : keyOf(tool, definition, input);
      const call = { id: String(id), tool, caller: "programmatic", inputBytes: 0, at: this.#state.now } as const;
      this.#history.make(call);
      this.#entries.set(call.id, {
        position: this.#state.records - 1,
        key,
        isHidden: this.#isRedacted,
        batches: [],
        items: 0,
      });
    }
  }

  #takeEvent(event: HostFrame): void {
    if (event.kind !== "answer" && event.kind !== "items") return;
    const entry = this.#entries.get(String(event.id));
    const turn = this.#state.records - 1;
    if (!entry) return;
    if (event.kind === "answer") {
      const answered = this.#history.get(String(event.id))?.answered;
      if (event.ok && answered?.ok && !this.#isRedacted) entry.answer = this.#answerOf(entry, answered, turn);
    } else if (this.#isRedacted || event.body === undefined) entry.batches = undefined;
    else {
      entry.batches?.push(turn);
      entry.items += event.count;
    }
  }

  #answerOf(
    { batches, items: itemCount, answeredAt, hasDisplay }: CallEntry,
    { bytes, shape = "", partsLeftOut = 0, items, named }: NonNullable<KnownCall["answered"]>,
    turn: number,
  ): EarlierAnswer | undefined {
    const isStream = items !== undefined;
    if (isStream && (batches === undefined || itemCount !== items)) return undefined;
    const records = isStream && batches ? batches : [turn];
    return { bytes, shape, partsLeftOut, named, records, isStream, display: hasDisplay ? answeredAt : undefined };
  }

  /** The calls of which something is known that matters for an equal call, in the order in which they were made. */
  *calls(): SlicedWork<readonly EarlierCall[]> {
    const calls = this.#claims;
    for (const pastCall of this.#history.all) {
      yield;
      const call = this.#earlierCall(pastCall);
      if (call && pastCall.earlier) calls.delete(refText(pastCall.earlier));
      if (call) calls.set(refText(call), call);
    }
    return [...calls.values()];
  }

  #earlierCall(call: KnownCall): EarlierCall | undefined {
    const { id, tool, reused, answered, ruling, decision, earlier } = call;
    const entry = this.#entries.get(id);
    const execution = this.#state.header?.execution;
    if (entry?.key === undefined || execution === undefined) return undefined;
    const { key, position, isHidden, answeredAt = Infinity } = entry;
    const answer = isHidden ? undefined : entry.answer;
    const effect = call.effect ?? this.#tools.get(tool)?.effect ?? "read";
    const ref = reused && earlier ? earlier : { execution, call: id };
    const { allow, by, note } = decision ?? {};
    // It was decided about what was done. What is made anew is decided about anew.
    const approval = allow && answer ? { call: `${ref.execution}/${ref.call}`, allow, by, note } : undefined;
    // What was to be given again, and was not, is known from what was taken over.
    if (!answer && (reused || effect !== "write" || !this.#mayHaveTakenEffect(call))) return undefined;
    return {
      ...ref,
      source: this.#source,
      tool,
      key,
      effect,
      position: position,
      ended: answeredAt,
      at: (reused ? ruling?.answeredAt : answered?.at) ?? 0,
      answer,
      isHidden: isHidden || undefined,
      approval,
    };
  }

  /** Whether a call without an answer to give may have changed something. */
  #mayHaveTakenEffect({ tool, started, ruling, end }: KnownCall): boolean {
    // An agent that has no answer may have called its tools before.
    if (end?.outcome.type === "failed")
      return !NOTHING_DONE.has(end.outcome.code) || this.#tools.get(tool)?.place === "agent";
    if (end?.outcome.type === "refused") return false;
    // A client may have done what it was asked for.
    return started === true || ruling?.decision === "client";
  }
}

const NO_TEXTS = { display: undefined, input: undefined, done: undefined, value: undefined };

/** What is kept of a record: values are read from the journal once they are given. */
function withoutTexts(record: JournalRecord): JournalRecord {
  return "call" in record ? ({ ...record, ...NO_TEXTS } as JournalRecord) : record;
}
