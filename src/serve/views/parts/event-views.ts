import type { JournalRecord } from "../../../journal/record.ts";
import { PROGRAM_APPROVAL } from "../../../executions/from-journal/index.ts";
import { cutMiddle } from "../../../base/index.ts";
import type { EventView } from "../view.ts";

/** Number of events that a view lists. A last line counts later events. */
const KEPT = 500;
/** Bytes of an event's sentence: it may name all tools, or quote a provider. */
const TEXT_BYTES = 2048;

/** The events of an execution beside its turns and calls. */
export function eventViews() {
  const events: EventView[] = [];
  let overflow = 0;
  return {
    all(): readonly EventView[] {
      const last = events.at(-1);
      if (overflow === 0 || !last) return events;
      return [...events, { type: "more", text: `${overflow} more events are not shown.`, at: last.at }];
    },
    note(record: JournalRecord): void {
      const text = textOf(record);
      if (text === undefined || !("at" in record)) return;
      const { type, at } = record;
      if (events.length < KEPT) events.push({ type, text: cutMiddle(text, TEXT_BYTES), at });
      else overflow += 1;
    },
  };
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
      if (record.call !== PROGRAM_APPROVAL) return undefined;
      const why = record.note === undefined ? "" : `: ${record.note}`;
      return `The program was ${record.allow ? "allowed" : "denied"} by ${record.by ?? "the host"}${why}.`;
    }
    default:
      return undefined;
  }
}
