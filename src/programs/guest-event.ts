import { answerText, frameText } from "../../bridge/frames.ts";
import type { Closes } from "../../bridge/turn-reader.ts";
import type { Answer } from "../gate/answer.ts";
import type { EventHead } from "./execution-state.ts";

/** An event for the guest. */
export interface GuestEvent {
  readonly head: EventHead;
  /** Text of the frame. */
  readonly text: string;
}

export function answerEvent(now: number, id: number, answer: Answer): GuestEvent {
  const { ok } = answer;
  const body = ok ? answer.text : JSON.stringify({ code: answer.code, tool: answer.tool, message: answer.message });
  const head = { kind: "answer", now, id, resultBytes: ok ? answer.bytes : 0 } as const;
  return { head, text: answerText(now, id, ok, body) };
}

export function fireEvent(now: number, id: number): GuestEvent {
  const head = { kind: "fire", now, id } as const;
  return { head, text: frameText(head) };
}

export function stopEvent(now: number): GuestEvent {
  const head = { kind: "stop", now } as const;
  return { head, text: frameText(head) };
}

/** The calls or the timer that an event closes in the guest. */
export function closesOf({ head }: GuestEvent): Closes {
  if ("id" in head) return head.id;
  return head.kind === "stop" ? "calls" : undefined;
}
