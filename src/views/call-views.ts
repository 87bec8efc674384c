import type {
  AnsweredRecord,
  CallRecord,
  DecisionRecord,
  JournalRecord,
  ResultRecord,
  RetryRecord,
} from "../journal/record.ts";
import type { TextRoom } from "./text-room.ts";
import type { CallState, CallView, DecisionView, TextHead } from "./view.ts";

/** A call while its records are read. */
interface SeenCall {
  readonly id: string;
  tool: string;
  caller: string;
  readonly made: number;
  readonly at: number;
  readonly input: TextHead;
  told?: number;
  ms?: number;
  state: CallState;
  detail?: string;
  result?: TextHead;
  bytes: number;
  started: boolean;
  effect?: string;
  attempts?: number;
  decision?: DecisionView;
  display?: string;
}

export interface MadeCall {
  readonly id: string;
  readonly tool: string;
  readonly caller: string;
  readonly inputText: string;
  /** The turn that made it, from 0. */
  readonly made: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Calls that a view lists. A program may make a million. */
const LISTED = 50_000;

const EMPTY: TextHead = { text: "", bytes: 0 };

/** The calls of an execution, put together from its records in their order. */
export class CallViews {
  readonly #calls = new Map<string, SeenCall>();
  readonly #room: TextRoom;
  #left = 0;

  constructor(room: TextRoom) {
    this.#room = room;
  }

  /** Number of the latest calls, which are not listed. */
  get left(): number {
    return this.#left;
  }

  get all(): readonly CallView[] {
    return [...this.#calls.values()];
  }

  make({ inputText, ...call }: MadeCall): void {
    if (this.#calls.size >= LISTED && !this.#room.isMeant(call.id)) {
      this.#left += 1;
      return;
    }
    this.#calls.set(call.id, {
      ...call,
      input: inputText === "" ? EMPTY : this.#room.headOfCall(call.id, inputText),
      state: "open",
      bytes: 0,
      started: false,
    });
  }

  /** The answer that the caller was given. `body` is the JSON of a value, or the message of a refusal or failure. */
  tell(
    id: string,
    turn: number,
    { ok, body, at }: { readonly ok: boolean; readonly body: string; readonly at: number },
  ) {
    const call = this.#calls.get(id);
    if (!call) return;
    call.told = turn;
    call.result = this.#room.headOfCall(id, body);
    call.ms ??= Math.max(0, at - call.at);
    if (ok) call.bytes = call.result.bytes;
    if (call.state === "open" || call.state === "waiting") call.state = ok ? "value" : "failed";
  }

  /** Takes what a record says of a call. */
  note(record: JournalRecord): void {
    const call = "call" in record && record.call !== undefined && this.#calls.get(record.call);
    if (!call) return;
    switch (record.type) {
      case "call":
        return decided(call, record);
      case "decision":
        call.decision ??= decisionOf(record);
        if (call.state === "waiting") call.state = "open";
        return;
      case "result":
        call.detail ??= clientsResult(record);
        if (call.state === "waiting") call.state = "open";
        return;
      case "retry":
        return retried(call, record);
      case "answered":
        return answered(call, record);
      default:
    }
  }

  /** The execution has ended, and its open calls with it. */
  abortOpen(): void {
    for (const call of this.#calls.values())
      if (call.state === "open" || call.state === "waiting") call.state = "aborted";
  }
}

function decided(call: SeenCall, { decision, code, effect, caller, at }: CallRecord): void {
  call.caller = caller;
  if (effect !== undefined) call.effect = effect;
  switch (decision) {
    case "allowed":
      call.started = true;
      call.state = "open";
      return;
    case "held":
      call.state = "waiting";
      // A call whose outcome is unknown needs a decision of its own.
      delete call.decision;
      return;
    case "client":
      call.state = "waiting";
      return;
    case "refused":
      call.state = "refused";
      call.ms = Math.max(0, at - call.at);
      if (code !== undefined) call.detail = code;
      return;
    case "dropped":
      call.state = "aborted";
      call.ms = Math.max(0, at - call.at);
  }
}

function decisionOf({ allow, done, by, note, at }: DecisionRecord): DecisionView {
  return {
    decision: done !== undefined ? "done" : allow ? "allowed" : "denied",
    ...(by === undefined ? {} : { by }),
    ...(note === undefined ? {} : { note }),
    at,
  };
}

function clientsResult({ error }: ResultRecord): string {
  return error === undefined ? "answered by its client" : "failed at its client";
}

function retried(call: SeenCall, { attempt }: RetryRecord): void {
  call.attempts = attempt + 1;
}

function answered(call: SeenCall, { ok, code, ms, bytes, shape, display }: AnsweredRecord): void {
  call.started = true;
  call.state = ok ? "value" : "failed";
  call.ms = ms;
  call.bytes = bytes;
  const detail = ok ? shape : code;
  if (detail !== undefined) call.detail = detail;
  if (display !== undefined) call.display = display;
}
