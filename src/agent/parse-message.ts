import { z } from "zod";
import { PortcullisError } from "../errors.ts";
import type { CompactRecord, MessageRecord } from "../journal/record.ts";
import type { AgentEnding } from "./ending.ts";
import type { CallResult, ModelTurn } from "../models/model.ts";
import { NOTICES, type SaidMessage } from "./said.ts";
import { MAX_TURN_CALLS } from "./transcript.ts";

/** A turn that a shortened history keeps. */
export interface CompactTurn {
  /** Place among all turns, from 0. */
  readonly turn: number;
  /** Missing where it is as it was. */
  readonly said?: readonly SaidMessage[];
  /** Those that are shorter than they were. */
  readonly results: readonly CallResult[];
}

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
  usage: z.object({ inputTokens: count, outputTokens: count, cachedInputTokens: count }),
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

const ENDING = z.union([
  z.object({ type: z.literal("answered"), answer: text, wrappedUp: z.literal(true).exactOptional() }),
  z.object({ type: z.literal("turns_spent"), allowed: count }),
  z.object({ type: z.literal("tokens_spent"), allowed: count, seen: count }),
  z.object({ type: z.enum(["refused", "cut_off"]), reason: text }),
  z.object({
    type: z.literal("provider_failed"),
    failure: z.object({ code: text, message: text, status: z.number().exactOptional() }),
  }),
  z.object({ type: z.literal("stuck"), tool: text, times: count }),
  z.object({ type: z.literal("answer_invalid"), answer: text, reason: text }),
  z.object({ type: z.enum(["cancelled", "stopped"]) }),
]);

const BROKEN_OFF = z.object({ type: z.literal("crashed"), detail: text });

/** The ending of a conversation as the journal holds it. Throws `journal_invalid` for any other, and for one that was broken off. */
export function parseEnding(execution: string, outcome: string): AgentEnding {
  const value = parsedJson(outcome);
  const { success, data } = ENDING.safeParse(value);
  // Codes of failures are the provider's adapters' own, and only shown.
  if (success) return data as AgentEnding;
  const brokenOff = BROKEN_OFF.safeParse(value);
  const why = brokenOff.success
    ? `was broken off and cannot go on: ${brokenOff.data.detail}`
    : "has an unknown outcome.";
  throw new PortcullisError("journal_invalid", `Conversation ${JSON.stringify(execution)} ${why}`);
}

/** A turn of a model as the journal holds it. Throws `journal_invalid`. */
export function parseTurn(record: MessageRecord): ModelTurn {
  return withCalls(parsed(record, TURN));
}

/** A turn of a transcript. Throws `option_invalid`. */
export function readTurn(value: unknown): ModelTurn {
  return withCalls(read(value, TURN));
}

/** Results of a transcript. Throws `option_invalid`. */
export function readResults(value: unknown): readonly CallResult[] {
  return read(value, RESULTS);
}

/** What was said in a transcript. Throws `option_invalid`. */
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

/** Results of calls as the journal holds them. Throws `journal_invalid`. */
export function parseResults(record: MessageRecord): readonly CallResult[] {
  return parsed(record, RESULTS);
}

/** What was said to the model, as the journal holds it. Throws `journal_invalid`. */
export function parseSaid(record: MessageRecord): readonly SaidMessage[] {
  return parsed(record, SAID);
}

/** A shortened history, as the journal holds it: which turns are kept, by their place, and what changed in them. Throws `journal_invalid`. */
export function parseCompact({ history }: CompactRecord): readonly CompactTurn[] {
  const { success, data } = COMPACT.safeParse(parsedJson(history));
  if (success) return data;
  throw new PortcullisError("journal_invalid", "The journal holds a shortened history that cannot be read.");
}

function read<Schema extends z.ZodType>(value: unknown, schema: Schema): z.output<Schema> {
  const { success, data } = schema.safeParse(value);
  if (success) return data;
  throw new PortcullisError("option_invalid", "A part of the transcript is not as `runtime.agent` gives it.");
}

function parsed<Schema extends z.ZodType>({ from, message }: MessageRecord, schema: Schema): z.output<Schema> {
  const { success, data } = schema.safeParse(parsedJson(message));
  if (success) return data;
  throw new PortcullisError("journal_invalid", `The journal holds a message of the ${from} that cannot be read.`);
}

function parsedJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
