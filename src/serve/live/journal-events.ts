import type { CallLine } from "../../gate/call-line.ts";
import { type StreamProgress, StreamNews } from "../../gate/streams/stream-reader.ts";
import type { BARE_WAITING } from "../../executions/outcome.ts";
import {
  cutMiddle,
  type Fields,
  isFields,
  memoryOf,
  parsedJson,
  type SchemaType,
  type SlicedWork,
} from "../../base/index.ts";
import type { ModelTurn } from "../../models/model.ts";
import type { HttpEvent } from "../api/event-shapes.ts";
import { clientEnding } from "../../conversations/index.ts";
import { readContent } from "../../conversations/from-journal/index.ts";
import { messageText } from "../../conversations/prompt/said-message.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { GuestFrame, HostFrame } from "../../../bridge/frames.ts";
import type { CallRecord, DecisionRecord, Header, JournalRecord } from "../../journal/record.ts";
import {
  applyRecord,
  applyToCall,
  CallHistory,
  endingHead,
  ExecutionState,
  holdOf,
  isExpired,
  isOfCall,
  isWaiting,
  type KnownCall,
  lineOf,
  type PastTurn,
  placesByTool,
  readTurnSliced,
  standingOf,
  streamedOf,
  type UnansweredCall,
} from "../../executions/from-journal/index.ts";

/** Bytes of a text in an event. The journal has the whole. */
const TEXT_BYTES = 32 * 1024;
/** Bytes of a name or a sentence in an event. */
const WORD_BYTES = 1024;
/** Memory of an open call in the state, of what its records say, of an open timer, and of a tool that runs elsewhere, in bytes at most. */
const HELD_BYTES = 448;
/** Calls of a turn of a model that an event lists. */
const LISTED_CALLS = 128;
/** Calls that an event of a wait lists. */
const LISTED_WAITING = 100;

/** One event, made from its record. Fields are JSON, and bounded: a text that was cut says so itself. */
export interface JournalEvent {
  /** Place of its record in the journal, and after a dot its place among the events of that record if there are several. */
  readonly id: string;
  readonly type: HttpEvent["type"];
  readonly data: EventBody;
}

type Content = ReturnType<typeof readContent> extends SlicedWork<infer Read> ? Read : never;

type Unnamed<Event> = Event extends unknown ? Omit<Event, "execution"> : never;

/** The stream adds the id of the execution, as its tenant writes it. */
type EventBody = Unnamed<HttpEvent>;

/**
 * Turns the records of one execution, from the first on, into events. The same records always give the same events, so
 * that a live stream and a later stream are equal. It holds open calls, and no text.
 */
export class JournalEvents {
  /** Number of records so far. */
  position = 0;
  #turns = 0;
  /** The state without texts, which may be large. */
  readonly #state = new ExecutionState();
  /** Open calls. */
  readonly #calls = new CallHistory();
  readonly #news = new WeakMap<KnownCall, StreamNews>();
  /** The model's calls that have no result, if it is a conversation. */
  readonly #asked = askedCalls();
  /** Where tools run, if not in a handler of the host. */
  #places: ReadonlyMap<string, string> = new Map();
  /** Whether it waited after the last record. */
  #waits = false;

  get #isConversation(): boolean {
    return this.#state.header?.kind === "conversation";
  }

  /** Memory of the open calls and timers that it holds, in bytes. */
  get heldBytes(): number {
    const { calls, timers } = this.#state;
    const held = calls.size + this.#calls.size + timers.size + this.#places.size;
    return held * HELD_BYTES + this.#asked.heldBytes();
  }

  *take(record: JournalRecord): SlicedWork<readonly JournalEvent[]> {
    const turn = record.type === "turn" ? yield* readTurnSliced(record) : undefined;
    const content = record.type === "message" ? yield* readContent(record) : undefined;
    const ending = record.type === "outcome" ? yield* endingHead(record.outcome) : undefined;
    const at = turn?.event.now ?? ("at" in record ? record.at : 0);
    const bare = withoutTexts(record);
    if (record.type === "header" || record.type === "tools") this.#places = placesByTool(record.tools);
    applyRecord(this.#state, bare, turn && withoutBodies(turn));
    const call = this.#calls.note(bare);
    if (this.#isConversation) this.#asked.take(bare, content);
    // The calls that no record ends end with their execution.
    const finalEvents = ending ? this.#calls.all.flatMap((one) => this.#endCall(at, one)) : [];
    const ended = bare.type === "call" || bare.type === "answered" ? this.#endCall(at, call) : [];
    const events = [finalEvents, this.#tell(record, { turn, content, ending, call, at }), ended, this.#wait(at)].flat();
    if (call?.end) this.#calls.forget(call);
    const index = this.position++;
    return events.map((data, place) => ({ id: place === 0 ? `${index}` : `${index}.${place}`, type: data.type, data }));
  }

  #tell(record: JournalRecord, { turn, content, ending, call, at }: Read): EventBody | readonly EventBody[] {
    switch (record.type) {
      case "header":
        return this.#begin(record);
      case "turn":
        return turn ? this.#turn(turn) : [];
      case "call":
        return call ? called(record, call, this.#places.get(call.tool)) : [];
      case "decision":
        return decisionEvent(record);
      case "result":
        return { type: "call_answered", callId: record.call, ok: record.error === undefined, at };
      case "retry": {
        const { attempt, delayMs } = record;
        return call ? { type: "call_retried", ...aboutOf(call), attempt, delayMs, at } : [];
      }
      case "message":
        return this.#message(content, at);
      case "outcome":
        return this.#isConversation
          ? { type: "conversation_ended", ending: endingOf(ending), at }
          : { type: "execution_ended", outcome: endingOf(ending), at };
      case "rest":
        return { type: "conversation_resting", ending: endingOf(parsedJson(record.ending ?? "null")), at };
      case "model":
        return { type: "model_changed", model: word(record.model), at };
      case "claim":
        return { type: "execution_resumed", at };
      case "restart":
        return { type: "execution_restarted", at };
      case "artifact": {
        const { name, bytes, shape, call: callId } = record;
        return { type: "artifact_kept", name: word(name), bytes, shape: word(shape), callId, at };
      }
      case "egress": {
        const { host, port, outcome, bytesUp, bytesDown, ms } = record;
        return { type: "connection_ended", host: word(host), port, outcome, bytesUp, bytesDown, ms, at };
      }
      default:
        return [];
    }
  }

  #turn({ event, commands }: PastTurn): readonly EventBody[] {
    const events = [...this.#stream(event), ...printed({ event, commands })];
    for (const command of commands) if (command.kind === "cancel") this.#calls.leave(String(command.id), event.now);
    return events;
  }

  /** A batch was handed to the program. A call whose end is told already has told of all its items. */
  #stream(event: HostFrame): readonly EventBody[] {
    if (event.kind !== "items") return [];
    const call = this.#calls.stream(String(event.id), event.count, event.bytes);
    const streamed = call && streamedOf(call);
    return streamed && this.#newsOf(call).take(streamed.items, event.now)
      ? [streamedTo(call, streamed, event.now)]
      : [];
  }

  /** Tells of the call's end, and before of the items that were not told. */
  #endCall(at: number, call: KnownCall | undefined): readonly EventBody[] {
    const end = ended(at, call);
    const streamed = call && streamedOf(call);
    if (end.length === 0 || !streamed || !this.#newsOf(call).take(streamed.items, "end")) return end;
    return [streamedTo(call, streamed, at), ...end];
  }

  #newsOf(call: KnownCall): StreamNews {
    const news = this.#news.get(call) ?? new StreamNews();
    this.#news.set(call, news);
    return news;
  }

  #begin(header: Header): EventBody {
    const { startedAt: at } = header;
    if (header.kind === "conversation")
      return { type: "conversation_started", model: word(header.model), task: text(header.task), at };
    const corrects = header.kind === "program" ? header.corrects?.execution : undefined;
    return { type: "execution_started", corrects, at };
  }

  /** Tells that the execution begins to wait. If its driver alone can go on with it, `held` says that the wait ends with that driver. */
  #wait(at: number): readonly EventBody[] {
    const waited = this.#waits;
    if (this.#isConversation) {
      const calls = this.#asked.waiting(this.#state, at);
      this.#waits = calls.length > 0;
      return this.#waits && !waited ? [{ type: "conversation_waiting", waiting: waitingOf(calls), at }] : [];
    }
    const standing = standingOf(this.#state, true, at);
    this.#waits = standing.state === "waiting";
    if (standing.state !== "waiting" || waited) return [];
    return [{ type: "execution_waiting", waiting: waitingOf(standing.calls), held: standing.held, at }];
  }

  #message(content: Content, at: number): EventBody | readonly EventBody[] {
    if (content && "said" in content) {
      const messages = content.said.filter(({ by }) => by === "user");
      const whole = messages.map(({ message }) => messageText(message)).filter((one) => one !== "");
      return messages.length === 0 ? [] : { type: "user_said", text: text(whole.join("\n")), at };
    }
    if (!content || !("turn" in content)) return [];
    this.#turns += 1;
    const calls = askedIn(content.turn).slice(0, LISTED_CALLS);
    const summaries = calls.map(({ id, tool }) => ({ callId: word(id), tool: word(tool) }));
    const { usage, text: replyText } = content.turn;
    return { type: "turn_ended", turn: this.#turns, calls: summaries, usage, text: text(replyText), at };
  }
}

/** What was read of the texts of a record, and the call that it is about. */
interface Read {
  readonly turn: PastTurn | undefined;
  readonly content: Content;
  readonly ending: Fields | undefined;
  readonly call: KnownCall | undefined;
  readonly at: number;
}

/**
 * The calls of a model's last turn that have no result. What a program waits for is in its own records, so a conversation
 * whose program waits is not said to wait.
 */
function askedCalls() {
  const open = new Map<string, UnansweredCall>();
  /** Memory of the calls, with their ids and names: a journal from elsewhere may have long ones. */
  let heldBytes = 0;
  const takeMessage = (content: NonNullable<Content>) => {
    if ("turn" in content) {
      open.clear();
      for (const { id, tool } of askedIn(content.turn)) open.set(id, { id, tool, inputText: "" });
    }
    if ("results" in content) for (const { callId } of content.results) open.delete(callId);
    heldBytes = 0;
    for (const { id, tool } of open.values()) heldBytes += HELD_BYTES + memoryOf(String(id)) + memoryOf(tool);
  };
  return {
    heldBytes: () => heldBytes,
    take(record: JournalRecord, content: Content): void {
      if (content) takeMessage(content);
      if (isOfCall(record)) applyToCall(open.get(record.call), record);
    },
    /** All of them, if they all wait for a person or a client. The gate has none of a turn whose calls the host is to answer. */
    waiting({ header, end }: ExecutionState, now: number): readonly UnansweredCall[] {
      if (end.outcome !== undefined) return [];
      const calls = [...open.values()];
      return calls.every((call) => isWaiting(call) && !isExpired(header, call, now)) ? calls : [];
    },
  };
}

function askedIn({ calls }: ModelTurn): readonly { readonly id: string; readonly tool: string }[] {
  return calls.map((call) => ({ id: call.id, tool: call.type === "tool_call" ? call.tool : RUN_PROGRAM }));
}

function printed({ event, commands }: PastTurn): readonly EventBody[] {
  const bodies = commands.flatMap((command: GuestFrame) =>
    command.kind === "output" ? [parsedJson(command.body)] : [],
  );
  const lines = bodies.filter((line) => typeof line === "string");
  return lines.length === 0 ? [] : [{ type: "output", text: text(lines.join("")), at: event.now }];
}

function aboutOf({ id: callId, tool, caller }: KnownCall): Pick<CallLine, "callId" | "tool" | "caller"> {
  return { callId, tool: word(tool), caller };
}

function streamedTo(call: KnownCall, { items, bytes }: StreamProgress, at: number): EventBody {
  return { type: "call_streamed", ...aboutOf(call), items, bytes, at };
}

function called({ decision, at }: CallRecord, call: KnownCall, place?: string): readonly EventBody[] {
  const about = aboutOf(call);
  if (decision === "allowed") return [{ type: "call_started", ...about, place: place && word(place), at }];
  if (decision !== "held" && decision !== "client") return [];
  return [{ type: "call_waiting", ...about, for: decision === "held" ? "decision" : "result", at }];
}

/** With the fields of the call's line in a report, but for what its handler has said to people. */
function ended(at: number, call: KnownCall | undefined): readonly EventBody[] {
  const summary = call && lineOf(call);
  if (!summary) return [];
  const { display: _display, named: _named, tool, outcome, ...line } = summary;
  const short = outcome.type === "value" ? { ...outcome, shape: word(outcome.shape) } : outcome;
  return [{ type: "call_ended", ...line, tool: word(tool), outcome: short, at }];
}

function decisionEvent({ call: callId, allow, by, note, done, at }: DecisionRecord): EventBody {
  const answer = {
    done: done === undefined ? undefined : (true as const),
    by: by && word(by),
    note: note && word(note),
  };
  return { type: "call_decided", callId, allow, ...answer, at };
}

function waitingOf(calls: readonly UnansweredCall[]): SchemaType<typeof BARE_WAITING> {
  const listed = calls.slice(0, LISTED_WAITING);
  const of = (decision: CallRecord["decision"]) => listed.filter(({ ruling }) => ruling?.decision === decision);
  const approvals = of("held").map((call) => ({ ...waitingCall(call), why: whyOf(call), hold: holdOf(call) }));
  const more = calls.length - listed.length || undefined;
  return { type: "waiting", approvals, calls: of("client").map(waitingCall), more };
}

function waitingCall({ id, tool, ruling }: UnansweredCall) {
  const { inputDigest, at: since = 0 } = ruling ?? {};
  return { callId: String(id), tool: word(tool), since, inputDigest };
}

function whyOf({ ruling }: UnansweredCall): "approval" | "outcome_unknown" {
  return ruling?.code === "outcome_unknown" ? "outcome_unknown" : "approval";
}

/** Fields that may be large, of which neither the state of a stream nor an event needs more than whether they are there. */
const LARGE: ReadonlySet<string> = new Set(
  (
    "source program resultSchema task instructions settings versions tools shown input value error done note display named " +
    "outcome notes"
  ).split(" "),
);

/** A record without what the state of a stream would hold of it. */
function withoutTexts(record: JournalRecord): JournalRecord {
  const fields = Object.entries(record).map(([name, value]) => [name, LARGE.has(name) ? emptied(value) : value]);
  return Object.fromEntries(fields);
}

function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return typeof value === "string" ? "" : isFields(value) ? {} : value;
}

function withoutBodies({ event, commands }: PastTurn): PastTurn {
  return { event, commands: commands.map((command) => ("body" in command ? { ...command, body: "" } : command)) };
}

/** Types of the last event of an execution. */
export const LAST_EVENTS: ReadonlySet<string> = new Set(["execution_ended", "conversation_ended"]);

function text(whole: string): string {
  return cutMiddle(whole, TEXT_BYTES);
}

function word(whole: string): string {
  return cutMiddle(whole, WORD_BYTES);
}

/** The fields of an ending without its value, which `GET /v1/executions/:id` gives. A later version may have endings of other types. */
function endingOf(ending: unknown): never {
  return short(isFields(ending) ? clientEnding(ending) : ending, 0) as never;
}

const LEFT_OUT: ReadonlySet<string> = new Set(["value", "answer"]);
/** Depth of an ending's own fields: `fault.message`. */
const ENDING_DEPTH = 2;

function short(value: unknown, depth: number): unknown {
  if (typeof value === "string") return word(value);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (!isFields(value) || depth >= ENDING_DEPTH) return undefined;
  const fields = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(fields.map(([name, field]) => [word(name), short(field, depth + 1)]));
}
