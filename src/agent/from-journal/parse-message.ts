import { z } from "zod";
import { PortcullisError } from "../../errors.ts";
import { TOKEN_USAGE } from "../../gate/token-usage.ts";
import type { JournalRecord } from "../../journal/record.ts";
import { type AgentEnding, JOURNAL_ENDING } from "../ending.ts";
import type { CallResult, ModelTurn } from "../../models/model.ts";
import { NOTICES, type SaidMessage } from "../prompt/said-message.ts";
import { parsedJson } from "../../values/json/json-text.ts";
import type { SlicedWork } from "../../values/slice-scheduler.ts";
import type { Content } from "./conversation-state.ts";
import { MAX_TURN_CALLS } from "./transcript.ts";

const text = z.string();
const count = z.number().nonnegative();

const TOOL_CALL = z.object({
  type: z.literal("tool_call"),
  id: text,
  forbidden: text.exactOptional(),
  tool: text,
  caller: z.enum(["direct", "programmatic", "unknown"]),
  inputText: text,
  program: text.exactOptional(),
  answerBy: z.number().exactOptional(),
});

const PROGRAM_CALL = z.object({
  type: z.literal("program_call"),
  id: text,
  forbidden: text.exactOptional(),
  source: text.optional(),
});

const HOSTED = z.union([
  z.object({ type: z.literal("hosted_program_started"), program: text, source: text }),
  z.object({ type: z.literal("hosted_program_ended"), program: text, output: text.optional(), isError: z.boolean() }),
]);

const END = z.union([
  z.object({ type: z.enum(["answered", "called", "unfinished"]) }),
  z.object({ type: z.enum(["refused", "cut_off"]), reason: text }),
]);

const TURN = z.object({
  type: z.literal("turn"),
  text,
  calls: z.array(z.discriminatedUnion("type", [TOOL_CALL, PROGRAM_CALL])).max(MAX_TURN_CALLS),
  hosted: z.array(HOSTED),
  end: END,
  usage: TOKEN_USAGE,
});

const CONTENT_PART = z.union([
  z.object({ type: z.enum(["image", "file"]), mediaType: text, data: text, name: text.exactOptional() }),
  z.object({ type: z.literal("link"), url: text, mediaType: text.exactOptional(), name: text.exactOptional() }),
]);

const USER_MESSAGE = z.union([text, z.array(z.union([z.object({ type: z.literal("text"), text }), CONTENT_PART]))]);

const SAID = z.array(
  z.object({ by: z.enum(["user", "host"]), message: USER_MESSAGE, why: z.enum(NOTICES).exactOptional() }),
);

const RESULTS = z.array(
  z.object({
    callId: text,
    text,
    isJson: z.boolean(),
    isError: z.boolean(),
    found: z.array(text).exactOptional(),
    parts: z.array(CONTENT_PART).exactOptional(),
    provenance: z.object({
      tool: text,
      bytes: count,
      cut: text.exactOptional(),
      source: text.exactOptional(),
      at: count.exactOptional(),
      filtered: text.exactOptional(),
      approvedBy: text.exactOptional(),
      summary: text.exactOptional(),
    }),
  }),
);

const COMPACT = z.array(z.object({ turn: z.int().nonnegative(), said: SAID.exactOptional(), results: RESULTS }));

const BROKEN_OFF = z.object({ type: z.literal("crashed"), detail: text });

/** A conversation's ending. Throws `journal_invalid` for a text that is no ending, and if the conversation was broken off. */
export function parseEnding(execution: string, outcome: string): AgentEnding {
  const value = parsedJson(outcome);
  const { success, data } = JOURNAL_ENDING.safeParse(value);
  if (success) return data;
  const brokenOff = BROKEN_OFF.safeParse(value);
  const why = brokenOff.success
    ? `was broken off and cannot go on: ${brokenOff.data.detail}`
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
      return { turn: withCalls(read(value, TURN, what)) };
    case "host":
      return { results: read(value, RESULTS, what) };
    case "user":
      return { said: read(value, SAID, what) };
  }
}

export function readTurn(value: unknown): ModelTurn {
  return withCalls(read(value, TURN));
}

export function readResults(value: unknown): readonly CallResult[] {
  return read(value, RESULTS);
}

export function readSaid(value: unknown): readonly SaidMessage[] {
  return read(value, SAID);
}

function withCalls({ calls, hosted, ...turn }: z.output<typeof TURN>): ModelTurn {
  return {
    ...turn,
    // JSON leaves out what is undefined.
    calls: calls.map((call) => (call.type === "program_call" ? { ...call, source: call.source } : call)),
    hosted: hosted.map((news) => (news.type === "hosted_program_ended" ? { ...news, output: news.output } : news)),
  };
}

/** Throws `option_invalid` for a part of a transcript, and `journal_invalid` for `what` of a journal. */
function read<Schema extends z.ZodType>(value: unknown, schema: Schema, what?: string): z.output<Schema> {
  const { success, data } = schema.safeParse(value);
  if (success) return data;
  throw what === undefined
    ? new PortcullisError("option_invalid", "A part of the transcript is not as `runtime.agent` gives it.")
    : new PortcullisError("journal_invalid", `The journal holds ${what} that cannot be read.`);
}
