import type { GuestFace } from "../../src/runtime/testing.ts";

/** Begins a turn: gets the frame that the host sent, and returns what the guest answers. If it throws, the guest dies. */
export type Turn = readonly string[] | ((event: string) => readonly string[]);

/** A guest that says whatever a test makes it say: first its greeting, then one list of frames for each event. After the last it is silent. */
export function guestThatSays(greeting: readonly string[], ...turns: readonly Turn[]): GuestFace {
  let said = [...greeting];
  let next = 0;
  return {
    deliver(event) {
      const turn = turns[next] ?? [];
      next += 1;
      said = said.concat(typeof turn === "function" ? turn(event) : turn);
    },
    drain() {
      const frames = said;
      said = [];
      return frames.join("\u001e");
    },
  };
}

export const READY = '{"kind":"ready","protocol":1,"language":"javascript"}';

export function call(id: unknown, tool: unknown, input: unknown = {}): string {
  return `${JSON.stringify({ kind: "call", id, tool })}\n${typeof input === "string" ? input : JSON.stringify(input)}`;
}

const about = (kind: string) => (id: unknown) => JSON.stringify({ kind, id });
export const next = about("next");
export const cancel = about("cancel");
export const clear = about("clear");

export const timer = (id: unknown, ms: unknown): string => JSON.stringify({ kind: "timer", id, ms });

export const turnEnd = (open: unknown): string => JSON.stringify({ kind: "turn_end", open });

/** `body` is JSON text. */
export function output(body: string, dropped: unknown = 0): string {
  return `{"kind":"output","stream":"stdout","dropped":${JSON.stringify(dropped)}}\n${body}`;
}

/** `body` is JSON text. */
export function settled(body: string, ok: unknown = true, notes: unknown = []): string {
  return `${JSON.stringify({ kind: "settled", ok, notes })}\n${body}`;
}
