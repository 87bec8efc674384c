import { z } from "zod";
import { PROVIDER_FAILURE, CITATION, FILES, formSchema } from "../models/turn-shape.ts";
import { CANCELLED, WAITING, OUTCOME, type Outcome, UNREPLAYABLE, type Waiting } from "../executions/outcome.ts";
import type { SchemaType } from "../base/index.ts";
import { objectSchema } from "../base/values/object-schema.ts";
import { type EventOf, eventSchemas } from "../gate/call-event.ts";
import { numberField as count } from "../gate/call-line.ts";
import { TOKEN_USAGE, type TokenUsage } from "../tools/token-usage.ts";
import type { ExecutionEvent } from "../executions/event.ts";
import type { Citation } from "../models/model.ts";

const text = z.string();
const flag = z.boolean();

/** `wrappedUp`: it was the last turn that was left, and could make no calls. */
const ANSWERED = formSchema("answered", {
  answer: text,
  wrappedUp: z.literal(true).optional(),
});

/** The answer does not fit the schema, also after the model was told why. */
const ANSWER_INVALID = formSchema("answer_invalid", { answer: text, reason: text });

const PLAIN = [
  /** The model did not finish within its turns. */
  formSchema("turns_spent", { allowed: count }),
  /** The model did not finish within its tokens. `seen` is what it used. */
  formSchema("tokens_spent", { allowed: count, seen: count }),
  /** The model or its provider refused the task. */
  formSchema("refused", { reason: text }),
  /** The last turn is incomplete; its calls were not made. */
  formSchema("cut_off", { reason: text }),
  /** The model made the same calls again and again, with the same answers, also after it was told. */
  formSchema("stuck", { tool: text, times: count }),
  /** `stopWhen` said so. */
  formSchema("stopped", {}),
  formSchema("provider_failed", { failure: PROVIDER_FAILURE }),
  CANCELLED,
] as const;

export const JOURNAL_AGENT_ENDING = z.discriminatedUnion("type", [ANSWERED, ANSWER_INVALID, ...PLAIN]);

/** As events over HTTP have it. */
export const BARE_ENDING = z.discriminatedUnion("type", [
  ANSWERED.omit({ answer: true }),
  ANSWER_INVALID.omit({ answer: true }),
  ...PLAIN,
]);

/** An ending, or `waiting`: only decisions or results from outside bring the conversation further. Its journal has no outcome then. */
export const AGENT_ENDING = z.discriminatedUnion("type", [...JOURNAL_AGENT_ENDING.options, WAITING]);

/** How a conversation ended, or why it rests. `waiting`: `resume` goes on. */
export type AgentEnding = SchemaType<typeof AGENT_ENDING>;

const outcome: z.ZodType<Outcome> = OUTCOME;
const waiting: z.ZodType<Waiting> = WAITING;
const ending: z.ZodType<AgentEnding> = AGENT_ENDING;
const usage: z.ZodType<TokenUsage> = TOKEN_USAGE;
const citation: z.ZodType<Citation> = CITATION;

/** The events of a conversation beside those of its calls and programs. */
export const CONVERSATION_EVENTS = eventSchemas({
  conversation_started: { model: text, task: text },
  text: { text },
  /** A piece of a summary of the model's reasoning, if `reasoning.summary` asks for it. */
  reasoning: { text },
  /** A piece of the input that the model writes for a call. For display: it may never become whole, and nothing runs before it is. */
  argument: {
    /** Position of the call in its turn, from 0. */
    index: count,
    /** `run_program` for programs. */
    tool: text,
    text,
  },
  /** The previous model has failed for good, and `model` goes on. */
  model_changed: { model: text },
  /** The previous model has failed for good, and this fallback cannot go on: why, as for an option that is wrong. */
  fallback_refused: { model: text, reason: text },
  /**
   * The model was asked to hold calls to the schemas of their tools (`strict: true`), and `tools` are declared without, because its
   * provider cannot express their schemas. The gate checks their inputs as ever.
   */
  tools_not_strict: { model: text, tools: z.array(text) },
  /** The model's provider is told of the inputs of `tools` otherwise than their schemas say: it does not take all of them. */
  inputs_changed: { model: text, tools: z.array(text) },
  /** A turn of the model: its text, and its calls before they are made. */
  turn_ended: {
    turn: count,
    text,
    /** `tool` is `run_program` for programs. */
    calls: z.array(objectSchema({ callId: text, tool: text })),
    usage,
  },
  program_started: { callId: text, source: text, hosted: flag },
  program_ended: {
    callId: text,
    /** Of a program that ran locally. */
    outcome: outcome.optional(),
    isError: flag,
    hosted: flag,
    /** Of a hosted program: ids of the files that it left at the provider. */
    files: FILES,
  },
  /** The provider began a call of a tool of its own, like its search. It passed no gate, and is none of `calls`. */
  hosted_call_started: { callId: text, tool: text, input: text },
  /** Such a call has ended. What it gave is data from outside. */
  hosted_call_ended: {
    callId: text,
    tool: text,
    isError: flag,
    output: text.optional(),
    sources: z.array(citation),
    files: FILES,
  },
  /** A reply of the model had parts of kinds that are not read, as its provider calls them. Nothing was done with them. */
  parts_unread: { model: text, parts: z.array(text) },
  conversation_waiting: {
    waiting,
    /** Why it keeps its process and its driver while it waits, as `execution_waiting` says it of its program. Missing if it was put down. */
    held: UNREPLAYABLE.optional(),
  },
  /** It has come to an ending, and the user may say more. */
  conversation_resting: { ending },
  conversation_ended: { ending },
});

/**
 * What happens in a conversation. `execution` is its id, or in an `ExecutionEvent` the id of the program or agent that it
 * called.
 */
export type AgentEvent = EventOf<typeof CONVERSATION_EVENTS> | ExecutionEvent;
