import type { GuestFrame } from "../../../bridge/frames.ts";
import type {
  AnsweredRecord,
  CallRecord,
  DecisionRecord,
  Header,
  JournalRecord,
  MessageRecord,
  OutcomeRecord,
  TurnRecord,
} from "../../journal/record.ts";
import { PROGRAM_CALL } from "../../programs/execution-state.ts";
import { readTurn } from "../../programs/history.ts";
import { cutMiddle } from "../../values/cut-middle.ts";
import { fieldOf, type Fields, isFields, listOf, textOf } from "../../values/fields.ts";
import { WaitingCalls } from "./waiting-calls.ts";

/** Bytes of a text in an event. The journal has the whole. */
const TEXT_BYTES = 32 * 1024;
/** Bytes of a name or a sentence in an event. */
const WORD_BYTES = 1024;
/** Calls of a turn of a model that an event lists. */
const LISTED_CALLS = 128;

/** One event, made from its record. Fields are JSON, and bounded: a text that was cut says so itself. */
export interface JournalEvent {
  /** Place of its record in the journal, and after a dot its place among the events of that record where there are several. */
  readonly id: string;
  readonly type: string;
  readonly data: Fields;
}

type Told = readonly [type: string, data: Fields];

/**
 * Turns the records of one execution, from the first on, into events. The same records always give the same events, so
 * that a live stream and a later one are equal. It holds open calls, and no text.
 */
export class JournalEvents {
  #index = 0;
  #kind: Header["kind"] = "program";
  #turns = 0;
  readonly #calls = new Map<string, { readonly tool: string; readonly caller: string }>();
  readonly #waiting = new WaitingCalls();

  /** Number of records so far. */
  get position(): number {
    return this.#index;
  }

  take(record: JournalRecord): readonly JournalEvent[] {
    const told = this.#tell(record);
    const waiting = this.#kind === "program" ? this.#waiting.begun() : undefined;
    const all: readonly Told[] = waiting ? [...told, ["execution_waiting", { waiting }]] : told;
    const index = this.#index;
    this.#index += 1;
    return all.map(([type, data], place) => ({
      id: place === 0 ? String(index) : `${index}.${place}`,
      type,
      data: { type, ...data },
    }));
  }

  #tell(record: JournalRecord): readonly Told[] {
    switch (record.type) {
      case "header":
        return this.#begin(record);
      case "turn":
        return this.#turn(record);
      case "call":
        return this.#call(record);
      case "answered":
        return this.#answered(record);
      case "decision":
        return this.#decided(record);
      case "result":
        this.#waiting.said(record.call);
        return [["call_answered", { callId: record.call, ok: record.error === undefined, at: record.at }]];
      case "retry": {
        const { call, attempt, delayMs, at } = record;
        return call === undefined
          ? []
          : [["call_retried", { callId: call, ...this.#calls.get(call), attempt, delayMs, at }]];
      }
      case "message":
        return this.#message(record);
      case "outcome":
        return this.#end(record);
      case "rest":
        return [["conversation_resting", { ending: endingOf(record.ending ?? "null"), at: record.at }]];
      case "model":
        return [["model_changed", { model: word(record.model), at: record.at }]];
      case "claim":
        return [["execution_resumed", { at: record.at }]];
      case "restart":
        return [["execution_restarted", { at: record.at }]];
      case "artifact": {
        const { name, bytes, shape, call, at } = record;
        return [["artifact_kept", { name: word(name), bytes, shape: word(shape), callId: call, at }]];
      }
      case "egress": {
        const { host, port, outcome, bytesUp, bytesDown, ms, at } = record;
        return [["connection_ended", { host: word(host), port, outcome, bytesUp, bytesDown, ms, at }]];
      }
      case "hand":
      case "alive":
      case "tools":
      case "compact":
      case "violation":
        return [];
    }
  }

  #begin(header: Header): readonly Told[] {
    const { kind, startedAt: at } = header;
    this.#kind = kind;
    if (header.kind === "conversation")
      return [["conversation_started", { model: word(header.model), task: text(header.task), at }]];
    if (header.kind === "program" && header.needsApproval) this.#waiting.open(PROGRAM_CALL);
    return [["execution_started", { kind, at }]];
  }

  #turn(record: TurnRecord): readonly Told[] {
    const { event, commands } = readTurn(record);
    this.#waiting.turn(event, commands);
    const printed = commands.flatMap((command: GuestFrame) => (command.kind === "output" ? [parse(command.body)] : []));
    const lines = printed.filter((line) => typeof line === "string");
    return lines.length === 0 ? [] : [["output", { text: text(lines.join("")), at: event.now }]];
  }

  #call(record: CallRecord): readonly Told[] {
    const { call: callId, decision, code, at } = record;
    const about = { tool: word(record.tool), caller: record.caller };
    switch (decision) {
      case "allowed":
        this.#waiting.said(callId);
        this.#calls.set(callId, about);
        return [["call_started", { callId, ...about, at }]];
      case "held":
      case "client":
        this.#waiting.hold(record, about.tool);
        this.#calls.set(callId, about);
        return [["call_waiting", { callId, ...about, for: decision === "held" ? "decision" : "result", at }]];
      case "refused":
      case "dropped": {
        this.#calls.delete(callId);
        const outcome = decision === "refused" ? { type: "refused", code: code ?? "" } : { type: "aborted" };
        return [["call_ended", { callId, ...about, outcome, bytes: 0, at }]];
      }
    }
  }

  #answered({ call: callId, ok, code, ms, bytes, shape, at }: AnsweredRecord): readonly Told[] {
    const about = this.#calls.get(callId);
    this.#calls.delete(callId);
    const outcome = ok ? { type: "value", shape: word(shape ?? "") } : { type: "failed", code: code ?? "" };
    return [["call_ended", { callId, ...about, outcome, ms, bytes, at }]];
  }

  #decided({ call: callId, allow, by, note, done, at }: DecisionRecord): readonly Told[] {
    this.#waiting.said(callId);
    return [
      [
        "call_decided",
        {
          callId,
          allow,
          ...(done === undefined ? {} : { done: true }),
          ...(by === undefined ? {} : { by: word(by) }),
          ...(note === undefined ? {} : { note: word(note) }),
          at,
        },
      ],
    ];
  }

  #message({ from, message, at }: MessageRecord): readonly Told[] {
    if (from === "host") return [];
    const said = parse(message);
    const spoken = { text: text(textOf(said, "text") ?? ""), at };
    if (from === "user") return [["user_said", spoken]];
    this.#turns += 1;
    const calls = listOf(said, "calls")
      .slice(0, LISTED_CALLS)
      .map((call) => ({ callId: word(textOf(call, "id") ?? ""), tool: word(textOf(call, "tool") ?? "run_program") }));
    return [["turn_ended", { turn: this.#turns, calls, usage: usageOf(fieldOf(said, "usage")), ...spoken }]];
  }

  #end({ outcome, at }: OutcomeRecord): readonly Told[] {
    const ending = endingOf(outcome);
    return this.#kind === "conversation"
      ? [["conversation_ended", { ending, at }]]
      : [["execution_ended", { outcome: ending, at }]];
  }
}

/** Types of the last event of an execution. */
export const LAST_EVENTS: ReadonlySet<string> = new Set(["execution_ended", "conversation_ended"]);

function text(whole: string): string {
  return cutMiddle(whole, TEXT_BYTES);
}

function word(whole: string): string {
  return cutMiddle(whole, WORD_BYTES);
}

/** The fields of an ending without its value, which `GET /v1/executions/:id` gives, and without the `detail` of a crash, which is for the operator. */
function endingOf(json: string): unknown {
  return short(parse(json), 0);
}

const LEFT_OUT: ReadonlySet<string> = new Set(["value", "answer", "detail"]);
/** Depth of an ending's own fields: `fault.message`. */
const ENDING_DEPTH = 2;

function short(value: unknown, depth: number): unknown {
  if (typeof value === "string") return word(value);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (!isFields(value) || depth >= ENDING_DEPTH) return undefined;
  const fields = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(fields.map(([name, field]) => [word(name), short(field, depth + 1)]));
}

function usageOf(usage: unknown): unknown {
  return short(usage, 1);
}

/** A journal may come from elsewhere, and its texts may be no JSON. */
function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
