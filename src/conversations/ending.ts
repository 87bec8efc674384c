import { z } from "zod";
import { PROVIDER_FAILURE } from "../models/turn-shape.ts";
import { CANCELLED, WAITING } from "../executions/outcome.ts";
import type { SchemaType } from "../base/index.ts";
import { objectSchema } from "../base/values/object-schema.ts";

const text = z.string();
const count = z.number().nonnegative();

/** `wrappedUp`: it was the last turn that was left, and could make no calls. */
const ANSWERED = objectSchema({
  type: z.literal("answered"),
  answer: text,
  wrappedUp: z.literal(true).optional(),
});

/** The answer does not fit the schema, also after the model was told why. */
const ANSWER_INVALID = objectSchema({ type: z.literal("answer_invalid"), answer: text, reason: text });

const PLAIN = [
  /** The model did not finish within its turns. */
  objectSchema({ type: z.literal("turns_spent"), allowed: count }),
  /** The model did not finish within its tokens. `seen` is what it used. */
  objectSchema({ type: z.literal("tokens_spent"), allowed: count, seen: count }),
  /** The model or its provider refused the task. */
  objectSchema({ type: z.literal("refused"), reason: text }),
  /** The last turn is incomplete; its calls were not made. */
  objectSchema({ type: z.literal("cut_off"), reason: text }),
  /** The model made the same calls again and again, with the same answers, also after it was told. */
  objectSchema({ type: z.literal("stuck"), tool: text, times: count }),
  /** `stopWhen` said so. */
  objectSchema({ type: z.literal("stopped") }),
  objectSchema({ type: z.literal("provider_failed"), failure: PROVIDER_FAILURE }),
  CANCELLED,
] as const;

export const JOURNAL_ENDING = z.discriminatedUnion("type", [ANSWERED, ANSWER_INVALID, ...PLAIN]);

/** As events over HTTP have it. */
export const BARE_ENDING = z.discriminatedUnion("type", [
  ANSWERED.omit({ answer: true }),
  ANSWER_INVALID.omit({ answer: true }),
  ...PLAIN,
]);

/** An ending, or `waiting`: only decisions or results from outside bring the conversation further. Its journal has no outcome then. */
export const AGENT_ENDING = z.discriminatedUnion("type", [...JOURNAL_ENDING.options, WAITING]);

/** How a conversation ended, or why it rests. `waiting`: `resume` goes on. */
export type AgentEnding = SchemaType<typeof AGENT_ENDING>;
