import {
  type RecordedEnd,
  CallHistory,
  isExpired,
  isWaiting,
  type KnownCall,
  lineOf,
  placesByTool,
  streamedOf,
  type HistoryAnswer,
} from "../../../executions/from-journal/index.ts";
import type { DecisionRecord, Header, JournalRecord, ResultRecord } from "../../../journal/record.ts";
import { grantText } from "../../../executions/output/index.ts";
import type { Caller } from "../../../tools/tool.ts";
import type { TextAllowance } from "./text-allowance.ts";
import type { CallView, DecisionView, TextHead, WaitingView } from "../view.ts";

/** What a view shows of a call beside its history. */
interface Shown {
  input: TextHead;
  rawInput?: TextHead;
  result?: TextHead;
  decision?: DecisionView | undefined;
  policy?: string;
  /** How a client answered the call. */
  answer?: string;
}

export interface CallHead extends Pick<KnownCall, "id" | "tool" | "at"> {
  readonly caller: string;
  readonly inputText: string;
}

interface ToldBody extends Omit<HistoryAnswer, "bytes"> {
  readonly body: string;
  /** UTF-8 bytes of its value, if the body is not the whole of it. */
  readonly bytes?: number;
}

/** What decides how an open call goes on. */
export interface CallStanding {
  readonly header: Header;
  readonly driven: boolean;
  /** The calls that wait for a person or a client. */
  readonly waiting: readonly Pick<WaitingView, "id">[];
}

/** Calls that a view lists. A program may make a million. */
const LISTED = 50_000;

const EMPTY: TextHead = { text: "", bytes: 0 };

/** The calls of an execution as a view lists them: their history, with the beginnings of their texts. A history that is given is noted by others. */
export function callViews(room: TextAllowance, outerHistory?: CallHistory) {
  const history = outerHistory ?? new CallHistory();
  const texts = new Map<string, Shown>();
  /** Number of the latest calls, which are not listed. */
  let overflow = 0;
  return {
    overflow: () => overflow,
    all(standing: CallStanding): readonly CallView[] {
      const waiting = new Set(standing.waiting.map(({ id }) => id));
      const places = placesByTool(standing.header.tools);
      return [...texts].flatMap(([id, shown]) => {
        const call = history.get(id);
        if (!call) return [];
        const state = call.end?.outcome.type ?? (waiting.has(id) ? "waiting" : "open");
        const open = state === "open" ? openText(call, standing) : undefined;
        const detail = call.end ? endText(call.end, call.reused) || shown.answer : open;
        return [{ ...viewOf(call, shown), state, detail, place: places.get(call.tool) }];
      });
    },
    make({ id, tool, caller, inputText, at }: CallHead): void {
      if (texts.size >= LISTED && !room.isMeant(id)) return void (overflow += 1);
      if (!outerHistory) history.make({ id, tool, caller: caller as Caller, at, inputBytes: 0 });
      texts.set(id, { input: inputText === "" ? EMPTY : room.headOfCall(id, inputText) });
    },
    /** The answer that the caller was given. `body` is the JSON of a value, or the message of a refusal or failure. */
    tell(id: string, { ok, body, at, bytes, code }: ToldBody): void {
      const shown = texts.get(id);
      if (!shown) return;
      const result = room.headOfCall(id, body);
      if (!outerHistory) history.tell(id, { ok, bytes: bytes ?? result.bytes, at, code });
      const call = history.get(id);
      // What ends a stream is no value.
      if (!ok || !call || !streamedOf(call)) shown.result = result;
    },
    note(record: JournalRecord): void {
      const shown = "call" in record && record.call !== undefined ? texts.get(record.call) : undefined;
      if (!outerHistory && (shown || record.type === "outcome")) history.note(record);
      if (!shown) return;
      if (record.type === "call" && record.input !== undefined) {
        shown.rawInput ??= shown.input;
        shown.input = room.headOfCall(record.call, record.input);
      }
      if (record.type === "call" && record.policy !== undefined) shown.policy = record.policy;
      if (record.type === "call" && record.decision === "held") delete shown.decision;
      else if (record.type === "decision") shown.decision ??= decisionOf(record);
      else if (record.type === "result") shown.answer ??= clientsResult(record);
    },
  };
}

function viewOf(call: KnownCall, { answer: _answer, ...shown }: Shown): Omit<CallView, "state"> {
  const { id, tool, caller, at, started = false, effect, retried, end } = call;
  const { items, bytes = end?.bytes ?? 0 } = streamedOf(call) ?? {};
  const attempts = retried && retried.attempt + 1;
  const { ms, display } = end ?? {};
  return {
    ...shown,
    id,
    tool,
    caller,
    at,
    ms,
    items,
    bytes,
    started,
    effect,
    attempts,
    from: lineOf(call)?.from,
    display,
  };
}

/** Kind of a value, and whether it was given before; code of a refusal or failure. */
function endText({ outcome }: RecordedEnd, reused = false): string | undefined {
  if (outcome.type === "aborted") return undefined;
  if (outcome.type !== "value") return outcome.code;
  return reused ? `${outcome.shape}, from before` : outcome.shape;
}

/** Why a call that does not wait is open; undefined for a call that a driver goes on with. */
function openText(call: KnownCall, { header, driven }: CallStanding): string | undefined {
  if (isExpired(header, call)) return "has waited for longer than the limit of waiting time";
  if (isWaiting(call)) return "was held, and cannot continue: only the driver that is gone could have answered it";
  if (driven) return undefined;
  if (call.decision) return "is decided, and continues when the execution is resumed";
  if (call.result) return "has its result, and continues when the execution is resumed";
  return call.started ? "was begun, and has no result" : "was made";
}

function decisionOf(record: DecisionRecord): DecisionView {
  const { allow, done, by, note, remember, remembered, grant, granted, at } = record;
  return {
    decision: done !== undefined ? "done" : allow ? "allowed" : "denied",
    by,
    note,
    remember,
    remembered,
    grant: grant && grantText(grant, at),
    granted: granted && { call: granted.call, left: grantText(granted.left, at) },
    at,
  };
}

function clientsResult({ error }: ResultRecord): string {
  return error === undefined ? "answered by its client" : "failed at its client";
}
