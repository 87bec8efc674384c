import { z } from "zod";
import { parsedJson, PortcullisError, type SlicedWork } from "../../base/index.ts";
import { CALL_RESULT, MODEL_TURN, USER_MESSAGE } from "../../models/turn-shape.ts";
import type { JournalRecord } from "../../journal/record.ts";
import { type AgentEnding, JOURNAL_ENDING } from "../ending.ts";
import { NOTICES } from "../prompt/said-message.ts";
import type { Content } from "./conversation-state.ts";
import { hasLongNames, MAX_ID_LENGTH, MAX_TURN_CALLS, MAX_TURN_HOSTED } from "./transcript.ts";

const text = z.string();

export const TURN = MODEL_TURN.extend({
  calls: MODEL_TURN.shape.calls.max(MAX_TURN_CALLS),
  hosted: MODEL_TURN.shape.hosted.max(MAX_TURN_HOSTED),
}).refine((turn) => !hasLongNames(turn));

export const SAID = z.array(
  z.object({ by: z.enum(["user", "host"]), message: USER_MESSAGE, why: z.enum(NOTICES).optional() }),
);

export const RESULTS = z
  .array(CALL_RESULT)
  .refine((results) => results.every(({ callId }) => callId.length <= MAX_ID_LENGTH));

const COMPACT = z.array(z.object({ turn: z.int().nonnegative(), said: SAID.optional(), results: RESULTS }));

const BROKEN_OFF = z.object({ type: z.literal("crashed"), detail: text });

/** A conversation's ending. Throws `journal_invalid` for a text that is no ending, and if the conversation was broken off. */
export function parseEnding(execution: string, outcome: string): AgentEnding {
  const value = parsedJson(outcome);
  const { success, data } = JOURNAL_ENDING.safeParse(value);
  if (success) return data;
  const brokenOff = BROKEN_OFF.safeParse(value);
  const why = brokenOff.success
    ? `was broken off and cannot continue: ${brokenOff.data.detail}`
    : "has an unknown outcome.";
  throw new PortcullisError("journal_invalid", `Conversation ${JSON.stringify(execution)} ${why}`);
}

/** What the text of a record holds, read in slices; undefined for a record without such a text. Throws `journal_invalid`. */
export function* readContent(record: JournalRecord): SlicedWork<Content | undefined> {
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
      return { results: read(value, RESULTS, what) };
    case "user":
      return { said: read(value, SAID, what) };
  }
}

function read<Schema extends z.ZodType>(value: unknown, schema: Schema, what: string): z.output<Schema> {
  const { success, data } = schema.safeParse(value);
  if (success) return data;
  throw new PortcullisError("journal_invalid", `The journal holds ${what} that cannot be read.`);
}
