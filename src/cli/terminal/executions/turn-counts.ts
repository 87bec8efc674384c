import type { TranscriptTurn } from "../../../agent/from-journal/transcript.ts";
import type { CallLine } from "../../../gate/call-line.ts";
import { counted } from "../../../output/count-text.ts";

/** Number of programs that these turns wrote, at the provider too. */
export function programsOf(turns: readonly Pick<TranscriptTurn, "turn">[]): number {
  const own = turns.flatMap(({ turn }) => turn.calls.filter(({ type }) => type === "program_call"));
  const hosted = turns.flatMap(({ turn }) => turn.hosted.filter(({ type }) => type === "hosted_program_started"));
  return own.length + hosted.length;
}

/** The calls of tools that these turns led to, those of their programs and agents included. */
export function callsOf(
  turns: readonly Pick<TranscriptTurn, "turn">[],
  calls: readonly CallLine[],
): readonly CallLine[] {
  const made = new Set(turns.flatMap(({ turn }) => turn.calls.map(({ id }) => id)));
  // The calls of a program have ids below the id of the call that runs it.
  return calls.filter(({ callId }) => made.has(callId) || made.has(callId.slice(0, Math.max(0, callId.indexOf("/")))));
}

/** `2 turns, 1 program, 500 calls`. */
export function workText(turns: number, programs: number, calls: number): string {
  const written = programs === 0 ? [] : [counted(programs, "program")];
  return [counted(turns, "turn"), ...written, counted(calls, "call")].join(", ");
}
