import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { optionError, PortcullisError } from "../errors.ts";
import type { ModelTurn } from "../models/model.ts";
import { fieldOf, isFields, textOf } from "../values/fields.ts";
import { TURN_END } from "../models/turn-shape.ts";
import { AGENT_ENDINGS } from "./ending-text.ts";
import type { Transcript, TranscriptTurn } from "./from-journal/transcript.ts";

/**
 * Checks a saved conversation, which may come from an untrusted file: every call must have one result with its id, and
 * the ending must follow from the last turn. Throws `option_invalid` for a value that is no transcript, and for a
 * transcript that no conversation can have. `subject` is where it was given, for the error.
 */
export function checkTranscript(transcript: Transcript, subject: string): void {
  checkForm(transcript, subject);
  const { ending, turns } = transcript;
  const refuse = (turn: number, detail: string) => {
    throw new PortcullisError("option_invalid", `${subject}: the transcript cannot have been: turn ${turn}: ${detail}`);
  };
  const seen = new Set<string>();
  for (const [index, { turn, results }] of turns.entries()) {
    const follows = turns[index + 1];
    const detail = faultIn({ turn, results }, seen, ending.type === "waiting" && !follows);
    if (detail !== undefined) refuse(index + 1, detail);
    if (follows && !goesOn(turn) && !hasSaid(follows.said))
      refuse(index + 1, `It ended the conversation (${turn.end.type}), and another turn follows.`);
  }
  if (!endsWith(transcript)) refuse(turns.length, `The ending ${ending.type} does not follow from it.`);
}

/** `mayLack`: the conversation waits for some of the results. */
function faultIn({ turn, results }: TranscriptTurn, seen: Set<string>, mayLack: boolean): string | undefined {
  for (const { id } of turn.calls) {
    if (seen.has(id)) return `The call ${id} is there twice.`;
    seen.add(id);
  }
  const answered = results.map(({ callId }) => callId);
  const there = new Set(answered);
  const asked = turn.calls.map(({ id }) => id).filter((id) => !mayLack || there.has(id));
  return isDeepStrictEqual(asked, answered) ? undefined : "Its calls and their results are not the same.";
}

/** What was said brings a conversation further that had ended. */
function hasSaid(said: unknown): boolean {
  return Array.isArray(said) && said.length > 0;
}

function goesOn({ end }: ModelTurn): boolean {
  return end.type === "called" || end.type === "unfinished";
}

/** Whether an ending is possible after these turns. */
function endsWith({ turns, ending, said }: Transcript): boolean {
  const last = turns.at(-1)?.turn;
  const wentOn = last === undefined || goesOn(last) || hasSaid(said);
  const isAnswer = last?.end.type === "answered";
  switch (ending.type) {
    case "answered":
      return isAnswer && last.text === ending.answer;
    case "refused":
    case "cut_off":
      return last?.end.type === ending.type && isText(ending.reason) && last.end.reason === ending.reason;
    case "turns_spent":
      return wentOn && (turns.length === ending.allowed || hasSayings(turns, ending.allowed));
    case "tokens_spent":
      return wentOn && Number.isFinite(ending.seen) && ending.seen >= ending.allowed;
    case "provider_failed":
      return (wentOn || last.end.type === "invalid") && typeof ending.failure?.message === "string";
    case "cancelled":
      return wentOn;
    case "stuck":
    case "stopped":
      return last !== undefined && last.calls.length > 0;
    case "answer_invalid":
      return isAnswer && last.text === ending.answer && isText(ending.reason);
    case "waiting":
      return wentOn && turns.length > 0;
  }
}

/** Turns are counted anew after each message of the user. */
function hasSayings(turns: Transcript["turns"], allowed: number): boolean {
  return turns.length > allowed && turns.some(({ said }) => hasSaid(said));
}

const FORM = z.looseObject({
  format: z.literal(1),
  turns: z.array(z.unknown()),
  ending: z.looseObject({ type: z.enum(AGENT_ENDINGS) }),
});

const ENDS: ReadonlySet<unknown> = new Set(TURN_END.options.map(({ shape }) => shape.type.value));

/** Whether a turn has the fields that are read here. There may be thousands: its whole form is checked where it is read. */
function hasForm({ turn, results }: Partial<TranscriptTurn>): boolean {
  if (!isText(turn?.text) || !Array.isArray(turn.calls) || !Array.isArray(results)) return false;
  return (
    ENDS.has(fieldOf(turn.end, "type")) &&
    turn.calls.every((call) => textOf(call, "id") !== undefined) &&
    results.every((result) => textOf(result, "callId") !== undefined && textOf(result, "text") !== undefined)
  );
}

function checkForm(transcript: Transcript, subject: string): void {
  if (!FORM.safeParse(transcript).success)
    throw optionError(subject, "a transcript, as runtime.agent gives it", transcript);
  const wrong = transcript.turns.findIndex((one) => !isFields(one) || !hasForm(one));
  if (wrong >= 0)
    throw new PortcullisError(
      "option_invalid",
      `${subject}: turn ${wrong + 1} lacks its text, its calls, its results or its end.`,
    );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
