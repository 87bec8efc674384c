import { z } from "zod";
import { parsedJson, PortcullisError, type SlicedWork, optionError } from "../../base/index.ts";
import { CALL_RESULT, MODEL_TURN, USER_MESSAGE } from "../../models/turn-shape.ts";
import type { JournalRecord } from "../../journal/record.ts";
import { type AgentEnding, JOURNAL_AGENT_ENDING } from "../event.ts";
import { NOTICES } from "../prompt/said-message.ts";
import {
  type HistoryContent,
  type KeptTurn,
  hasLongNames,
  MAX_ID_LENGTH,
  MAX_TURN_CALLS,
  MAX_TURN_HOSTED,
  type Transcript,
} from "./conversation-state.ts";
import { isDeepStrictEqual } from "node:util";
import type { History } from "./restore-conversation.ts";

const text = z.string();

export const TURN = MODEL_TURN.extend({
  calls: MODEL_TURN.shape.calls.max(MAX_TURN_CALLS),
  hosted: MODEL_TURN.shape.hosted.max(MAX_TURN_HOSTED),
}).refine((turn) => !hasLongNames(turn));

export const MESSAGE_LIST = z.array(
  z.object({ by: z.enum(["user", "host"]), message: USER_MESSAGE, why: z.enum(NOTICES).optional() }),
);

export const MESSAGE_RESULTS = z
  .array(CALL_RESULT)
  .refine((results) => results.every(({ callId }) => callId.length <= MAX_ID_LENGTH));

const COMPACT = z.array(
  z.object({ turn: z.int().nonnegative(), said: MESSAGE_LIST.optional(), results: MESSAGE_RESULTS }),
);

const BROKEN_OFF = z.object({ type: z.literal("crashed"), detail: text });

/** A conversation's ending. Throws `journal_invalid` for a text that is no ending, and if the conversation was broken off. */
export function parseEnding(execution: string, outcome: string): AgentEnding {
  const value = parsedJson(outcome);
  const { success, data } = JOURNAL_AGENT_ENDING.safeParse(value);
  if (success) return data;
  const brokenOff = BROKEN_OFF.safeParse(value);
  const why = brokenOff.success
    ? `was broken off and cannot continue: ${brokenOff.data.detail}`
    : "has an unknown outcome.";
  throw new PortcullisError("journal_invalid", `Conversation ${JSON.stringify(execution)} ${why}`);
}

/** What the text of a record holds, read in slices; undefined for a record without such a text. Throws `journal_invalid`. */
export function* readContent(record: JournalRecord): SlicedWork<HistoryContent | undefined> {
  if (record.type !== "message" && record.type !== "compact") return undefined;
  const value = parsedJson(record.type === "message" ? record.message : record.history);
  // Between the two steps that take as long as the text is.
  yield;
  if (record.type === "compact") return { history: read(value, COMPACT, "a shortened history") };
  const what = `a message of the ${record.from}`;
  switch (record.from) {
    case "model":
      return { turn: read(value, TURN, what) };
    case "host":
      return { results: read(value, MESSAGE_RESULTS, what) };
    case "user":
      return { said: read(value, MESSAGE_LIST, what) };
  }
}

function read<Schema extends z.ZodType>(value: unknown, schema: Schema, what: string): z.output<Schema> {
  const { success, data } = schema.safeParse(value);
  if (success) return data;
  throw new PortcullisError("journal_invalid", `The journal holds ${what} that cannot be read.`);
}

const FORM = z.object({
  format: z.literal(1),
  task: text,
  model: text,
  turns: z.array(z.unknown()),
  said: MESSAGE_LIST.default([]),
  ending: z.looseObject({ type: text }),
});
const TURN_FORM = z.object({
  said: MESSAGE_LIST.default([]),
  turn: TURN,
  model: text.optional(),
  results: MESSAGE_RESULTS,
});

/**
 * Reads a saved conversation, which may come from an untrusted file, in slices: each of its calls has one result, unless the
 * conversation waits. Throws `option_invalid` for a value that is no transcript, and for turns that no conversation can have had.
 * `subject` is where it was given, for the error.
 */
export function* readTranscript(transcript: Transcript, subject: string): SlicedWork<Omit<History, "isOpen">> {
  const form = FORM.safeParse(transcript);
  if (!form.success) throw optionError(subject, "a transcript, as runtime.agent gives it", transcript);
  const { task, model, turns: items, said: lastMessages, ending } = form.data;
  const turns: KeptTurn[] = [];
  const seen = new Set<string>();
  for (const [place, one] of items.entries()) {
    const refused = (why: string) =>
      new PortcullisError("option_invalid", `${subject}: turn ${place + 1} of the transcript ${why}.`);
    const { success, data } = TURN_FORM.safeParse(one);
    if (!success) throw refused("is not as runtime.agent gives it");
    const before = turns.at(-1);
    if (before && data.said.length === 0 && before.turn.end.type !== "called" && before.turn.end.type !== "unfinished")
      throw refused("follows one that ended the conversation");
    const results = new Map(data.results.map((result) => [result.callId, result]));
    const mayLack = ending.type === "waiting" && place + 1 === items.length;
    const asked = data.turn.calls.map(({ id }) => id).filter((id) => !mayLack || results.has(id));
    if (!isDeepStrictEqual(asked, [...results.keys()])) throw refused("has not one result for each of its calls");
    for (const { id } of data.turn.calls) {
      if (seen.has(id)) throw refused(`has the call ${id}, which was made before`);
      seen.add(id);
    }
    turns.push({ said: data.said, turn: data.turn, opaque: undefined, model: data.model ?? model, results });
    yield;
  }
  return { task, turns, said: lastMessages };
}
