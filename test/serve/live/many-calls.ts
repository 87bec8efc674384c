import { frameText } from "../../../bridge/frames.ts";
import type { JournalEvents } from "../../../src/serve/live/journal-events.ts";
import { turn } from "../../journal/records.ts";
import { takeRecords } from "./take-records.ts";

export const DECISIONS = ["allowed", "held", "client"] as const;

const idsOf = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

/** Tells of so many calls and timers that begin in one turn. */
export function beginCalls(events: JournalEvents, count: number, decision: (typeof DECISIONS)[number]): void {
  const ids = idsOf(count);
  const commands = [
    ...ids.map((id) => frameText({ kind: "call", id, tool: "a.pay", body: "{}" })),
    ...ids.map((id) => frameText({ kind: "timer", id: count + id, ms: 1 })),
  ];
  takeRecords([turn(frameText({ kind: "fire", now: 1, id: 1 }), ...commands)], events);
  for (const id of ids) {
    const inputDigest = `${id}`.padStart(64, "0");
    const tool = `a.p${"ay".repeat(1 + (id % 2))}`;
    const call = { type: "call", call: `${id}`, tool, caller: "programmatic", decision, inputDigest } as const;
    takeRecords([{ ...call, at: 1.7e12 + id }], events);
  }
}

/** Tells that they have ended. */
export function endCalls(events: JournalEvents, count: number): void {
  for (const id of idsOf(count)) {
    const answered = { type: "answered", call: `${id}`, ok: true, ms: 1, bytes: 1, at: 1 } as const;
    const told = frameText({ kind: "answer", now: 2, id, ok: true, body: "1" });
    const fired = frameText({ kind: "fire", now: 2, id: count + id });
    takeRecords([answered, turn(told), turn(fired)], events);
  }
}
