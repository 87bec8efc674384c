import { isDeepStrictEqual } from "node:util";
import { optionError, PortcullisError } from "../errors.ts";
import type { CallResult, ModelCall, ModelTurn, TurnEnd } from "../models/model.ts";
import type { AgentEnding } from "./ending.ts";
import type { Transcript, TranscriptTurn } from "./transcript.ts";

export type ReplayedTranscript =
  | { readonly type: "consistent"; readonly ending: AgentEnding }
  /** `turn` is counted from 1. */
  | { readonly type: "inconsistent"; readonly turn: number; readonly detail: string };

/** What a replay shows of each turn. */
export interface TranscriptViewer {
  readonly onTurn?: (turn: ModelTurn) => void;
  readonly onResult?: (call: ModelCall, result: CallResult) => void;
}

/**
 * Goes through a saved conversation once more, without its provider, its tools or a key, and says whether it is one
 * that can have been: every call answered once by its own id, and an ending that follows from the last turn. Throws
 * `option_invalid` for what is no transcript: it may come from a file.
 */
export function replayTranscript(transcript: Transcript, viewer: TranscriptViewer = {}): ReplayedTranscript {
  check(transcript);
  const seen = new Set<string>();
  for (const [index, { turn, results }] of transcript.turns.entries()) {
    viewer.onTurn?.(turn);
    const detail = faultIn({ turn, results }, seen);
    if (detail !== undefined) return { type: "inconsistent", turn: index + 1, detail };
    for (const [place, call] of turn.calls.entries()) viewer.onResult?.(call, results[place] as CallResult);
    if (index + 1 < transcript.turns.length && !goesOn(turn))
      return {
        type: "inconsistent",
        turn: index + 1,
        detail: `It ended the conversation (${turn.end.type}), and another follows.`,
      };
  }
  const { ending, turns } = transcript;
  if (!endsWith(turns, ending))
    return { type: "inconsistent", turn: turns.length, detail: `The ending ${ending.type} does not follow from it.` };
  return { type: "consistent", ending };
}

function faultIn({ turn, results }: TranscriptTurn, seen: Set<string>): string | undefined {
  for (const { id } of turn.calls) {
    if (seen.has(id)) return `The call ${id} is there twice.`;
    seen.add(id);
  }
  const asked = turn.calls.map(({ id }) => id);
  const answered = results.map(({ callId }) => callId);
  return isDeepStrictEqual(asked, answered) ? undefined : "Its calls and their results are not the same.";
}

function goesOn({ end }: ModelTurn): boolean {
  return end.type === "called" || end.type === "unfinished";
}

/** Whether a conversation can have ended like this after these turns. */
function endsWith(turns: Transcript["turns"], ending: AgentEnding): boolean {
  const last = turns.at(-1)?.turn;
  const wentOn = last === undefined || goesOn(last);
  switch (ending.type) {
    case "answered":
      return last?.end.type === "answered" && last.text === ending.answer;
    case "refused":
    case "cut_off":
      return isDeepStrictEqual(last?.end, ending);
    case "turns_spent":
      return wentOn && turns.length === ending.allowed;
    case "tokens_spent":
      return wentOn && ending.seen >= ending.allowed;
    case "provider_failed":
      return wentOn && typeof ending.failure?.message === "string";
    case "cancelled":
      return wentOn;
  }
}

/** Records, so that the compiler finds an ending that is missing. */
const ENDINGS: Readonly<Record<AgentEnding["type"], true>> = {
  answered: true,
  turns_spent: true,
  tokens_spent: true,
  refused: true,
  cut_off: true,
  provider_failed: true,
  cancelled: true,
};

const TURN_ENDS: Readonly<Record<TurnEnd["type"], true>> = {
  answered: true,
  called: true,
  unfinished: true,
  refused: true,
  cut_off: true,
};

/** Whether something of a file has one of these as its type. */
function hasType(value: unknown, types: object): boolean {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  return typeof value.type === "string" && Object.hasOwn(types, value.type);
}

function check(transcript: Transcript): void {
  const whole = "a transcript, as runtime.agent gives it";
  if (typeof transcript !== "object" || transcript === null || transcript.format !== 1)
    throw optionError("replayTranscript(transcript)", whole, transcript);
  const { turns, ending } = transcript;
  if (!Array.isArray(turns) || !hasType(ending, ENDINGS))
    throw optionError("replayTranscript(transcript)", whole, transcript);
  for (const [index, one] of turns.entries()) {
    const { turn, results } = (one ?? {}) as Partial<TranscriptTurn>;
    const { text, calls, end } = turn ?? {};
    if (typeof text !== "string" || !haveIds(calls, "id") || !haveIds(results, "callId") || !hasType(end, TURN_ENDS))
      throw new PortcullisError(
        "option_invalid",
        `replayTranscript(transcript): turn ${index + 1} lacks its text, its calls, its results or its end.`,
      );
  }
}

function haveIds(list: unknown, key: "id" | "callId"): boolean {
  if (!Array.isArray(list)) return false;
  return list.every((one: Readonly<Record<string, unknown>> | null) => typeof one?.[key] === "string");
}
