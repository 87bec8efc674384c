import { z } from "zod";
import { PortcullisError } from "../errors.ts";
import type { MessageRecord } from "../journal/record.ts";
import type { AgentEnding } from "./ending.ts";
import type { CallResult, ModelTurn } from "../models/model.ts";
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
  usage: z.object({ inputTokens: count, outputTokens: count, cachedInputTokens: count }),
});

const RESULTS = z.array(
  z.object({
    callId: text,
    text,
    isJson: z.boolean(),
    isError: z.boolean(),
    found: z.array(text).exactOptional(),
    provenance: z.object({ tool: text, bytes: count, cut: text.exactOptional() }),
  }),
);

const ENDING = z.union([
  z.object({ type: z.literal("answered"), answer: text }),
  z.object({ type: z.literal("turns_spent"), allowed: count }),
  z.object({ type: z.literal("tokens_spent"), allowed: count, seen: count }),
  z.object({ type: z.enum(["refused", "cut_off"]), reason: text }),
  z.object({
    type: z.literal("provider_failed"),
    failure: z.object({ code: text, message: text, status: z.number().exactOptional() }),
  }),
  z.object({ type: z.literal("cancelled") }),
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
  const { calls, hosted, ...turn } = parsed(record, TURN);
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
