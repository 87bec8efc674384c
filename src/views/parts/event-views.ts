import type { CallRecord, JournalRecord } from "../../journal/record.ts";
import {
  applyToCall,
  type CallFacts,
  isOfCall,
  isWaiting,
  type RecordOfCall,
} from "../../programs/from-journal/call-history.ts";
import { PROGRAM_CALL } from "../../programs/from-journal/execution-state.ts";
import { cutMiddle } from "../../values/cut-middle.ts";
import type { EventView } from "../view.ts";

/** Number of events that a view lists. A last line counts later events. */
const KEPT = 500;
/** Bytes of an event's sentence: it may name all tools, or quote a provider. */
const TEXT_BYTES = 2048;
/** The shortest wait for a person or a client that is listed, in milliseconds. */
const LISTED_WAIT_MS = 1000;

/** The events of an execution beside its turns and calls. */
export class EventViews {
  readonly #events: EventView[] = [];
  #left = 0;
  /** The calls that wait for a person or a client, by their ids. */
  readonly #waiting = new Map<string, CallRecord>();

  get all(): readonly EventView[] {
    const [last] = this.#events.slice(-1);
    if (this.#left === 0 || !last) return this.#events;
    return [...this.#events, { type: "more", text: `${this.#left} more events are not shown.`, at: last.at }];
  }

  note(record: JournalRecord): void {
    if (isOfCall(record)) this.#noteWait(record);
    const text = textOf(record);
    if (text !== undefined && "at" in record) this.#add(record.type, text, record.at);
  }

  #noteWait(record: RecordOfCall & { readonly call: string }): void {
    const { call: id, at } = record;
    const waited = this.#waiting.get(id);
    if (!waited) {
      if (record.type !== "call" || !waitsAfter(record)) return;
      if (this.#waiting.size < KEPT) this.#waiting.set(id, record);
      else this.#left += 1;
    } else if (!waitsAfter(record, waited)) {
      this.#waiting.delete(id);
      if (at - waited.at >= LISTED_WAIT_MS) this.#add("wait", waitText(waited, at), at);
    }
  }

  #add(type: string, text: string, at: number): void {
    if (this.#events.length < KEPT) this.#events.push({ type, text: cutMiddle(text, TEXT_BYTES), at });
    else this.#left += 1;
  }
}

/** Whether a call waits after a record. `decided`: what was decided before. */
function waitsAfter(record: RecordOfCall, decided?: CallRecord): boolean {
  const facts: CallFacts = decided ? { decided } : {};
  applyToCall(facts, record);
  return isWaiting(facts);
}

function waitText({ call, tool, decision, at: since }: CallRecord, at: number): string {
  const who = call === PROGRAM_CALL ? "The program" : `Call ${call} of ${tool}`;
  const what = decision === "client" ? "its client's result" : "a decision";
  return `${who} waited ${((at - since) / 1000).toFixed(1)} s for ${what}.`;
}

/** A record in a sentence; undefined if the rest of the view tells of it. */
function textOf(record: JournalRecord): string | undefined {
  switch (record.type) {
    case "claim":
      return `Taken up by driver ${record.driver}.`;
    case "violation":
      return `The guest broke the protocol: ${record.detail}`;
    case "restart":
      // The cause is for the operator: an engine's last words have paths of the host.
      return "The engine died and was replaced.";
    case "egress":
      return `Connection to ${record.host}:${record.port}: ${record.outcome}${record.detail === "" ? "" : `, ${record.detail}`}; ${record.bytesUp} bytes sent, ${record.bytesDown} received in ${Math.round(record.ms)} ms.`;
    case "retry":
      return record.call === undefined
        ? `Attempt ${record.attempt} of a request to the model failed: ${record.reason} The next one follows after ${record.delayMs} ms.`
        : `Attempt ${record.attempt} of call ${record.call} failed with ${record.reason}. The next one follows after ${record.delayMs} ms.`;
    case "model":
      return `${record.model} answers from here on.`;
    case "tools":
      return `The tools from here on: ${record.tools.map(({ name }) => name).join(", ")}.`;
    case "compact":
      return "The history that the model is sent was shortened.";
    case "decision": {
      if (record.call !== PROGRAM_CALL) return undefined;
      const why = record.note === undefined ? "" : `: ${record.note}`;
      return `The program was ${record.allow ? "allowed" : "denied"} by ${record.by ?? "the host"}${why}.`;
    }
    default:
      return undefined;
  }
}
