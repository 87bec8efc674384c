import { z } from "zod";
import { NEEDS } from "../executions/listed-execution.ts";
import type { SchemaType } from "../values/schema-type.ts";
import { objectSchema } from "../values/object-schema.ts";

const count = z.number();

export const TEXT_HEAD = objectSchema({
  text: z.string(),
  /** UTF-8 bytes of the whole text. */
  bytes: count,
  /** Missing if the text is whole; otherwise `viewCall` gives the whole. */
  cut: z.literal(true).exactOptional(),
});

/** The beginning of a text. */
export type TextHead = SchemaType<typeof TEXT_HEAD>;

const CALL_STATE = z.enum(["open", "waiting", "value", "refused", "failed", "aborted"]);

/** The state of one call. `open`: it has no answer and waits for nothing from outside. */
export type CallState = SchemaType<typeof CALL_STATE>;

const DECISION_VIEW = objectSchema({
  decision: z.enum(["allowed", "denied", "done"]),
  by: z.string().exactOptional(),
  note: z.string().exactOptional(),
  /** The decision holds for later calls with the same tool and input, too. */
  remember: z.literal(true).exactOptional(),
  /** The earlier call whose remembered decision this call repeats. */
  remembered: z.string().exactOptional(),
  /** The further calls that it allows, in words. */
  grant: z.string().exactOptional(),
  /** Set if the grant of an earlier call allows it: that call, and what is left of its grant, in words. */
  granted: objectSchema({ call: z.string(), left: z.string() }).exactOptional(),
  /** Milliseconds since 1970. */
  at: count,
});

export type DecisionView = SchemaType<typeof DECISION_VIEW>;

export const CALL_VIEW = objectSchema({
  /** The id that `decide` takes: `3`, or `call_2/3` in a conversation. */
  id: z.string(),
  tool: z.string(),
  /** Where it runs, like `mcp crm`, `agent` or `client`; missing for a handler of the host. */
  place: z.string().exactOptional(),
  caller: z.string(),
  state: CALL_STATE,
  /** Code of a refusal or failure, or kind of a value like `array of 200`; why an open call does not go on by itself. */
  detail: z.string().exactOptional(),
  /** Milliseconds since 1970. */
  at: count,
  /** Milliseconds from the call to its answer; missing while there is none. */
  ms: count.exactOptional(),
  /** The input that the handler is given. Absent if the call was refused before its input was read. */
  input: TEXT_HEAD,
  /** The input as the caller sent it, if the tool's schema has made another one of it. */
  rawInput: TEXT_HEAD.exactOptional(),
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered, and for items. */
  result: TEXT_HEAD.exactOptional(),
  /** UTF-8 bytes of the value's JSON; 0 without one. Of a stream, of the items that the program was given so far. */
  bytes: count,
  /** Of a stream: number of the items that the program was given so far. Missing until there is one. */
  items: count.exactOptional(),
  started: z.boolean(),
  effect: z.string().exactOptional(),
  /** How often the handler was run, if it was run again. */
  attempts: count.exactOptional(),
  /** The call of an earlier execution whose answer it was given. No handler ran for it. */
  from: objectSchema({ execution: z.string(), callId: z.string() }).exactOptional(),
  decision: DECISION_VIEW.exactOptional(),
  /** Why the policy held or refused it; missing if it did not. */
  policy: z.string().exactOptional(),
  /** The handler's text for people (`display`), as JSON text. */
  display: z.string().exactOptional(),
});

export type CallView = SchemaType<typeof CALL_VIEW>;

/** How far the stream of a call is. */
export type StreamView = Required<Pick<CallView, "items" | "bytes">>;

const WAITING_VIEW = objectSchema({
  id: z.string(),
  /** `run_program` for a program itself; its input has `source` and `language`. */
  tool: z.string(),
  why: z.enum(["approval", "outcome_unknown", "result"]),
  /** Why the policy holds it; missing if its tool asks for the decision. */
  policy: z.string().exactOptional(),
  /** What it changes at most: the `effect` of its tool. Missing for a program itself. */
  effect: z.enum(["read", "idempotent", "write"]).exactOptional(),
  /**
   * The whole JSON text, unless all waiting calls together have more than 4 MiB: then it is cut, and `viewCall` gives
   * the whole.
   */
  input: TEXT_HEAD,
  /** As it was sent, if the tool's schema has made another input of it. */
  rawInput: TEXT_HEAD.exactOptional(),
  inputDigest: z.string().exactOptional(),
  /** Milliseconds since 1970. */
  since: count,
  /** Which time it waits for a decision, from 1. */
  hold: count.exactOptional(),
});

/** A call that waits for a person (`approval`, `outcome_unknown`), or for the result of a client or of its host (`result`). */
export type WaitingView = SchemaType<typeof WAITING_VIEW>;

const LIMIT_VIEW = objectSchema({
  name: z.string(),
  used: count.exactOptional(),
  allowed: count,
});

/** A limit and how much of it was used; `used` is missing if it is not known before the end. */
export type LimitView = SchemaType<typeof LIMIT_VIEW>;

const FUNNEL_PART = objectSchema({
  /** UTF-8 bytes. */
  bytes: count,
  /** Of OpenAI's encoding o200k. */
  tokens: count,
  /** The tokens are estimated from the beginning of the texts. */
  estimated: z.literal(true).exactOptional(),
});

/** Bytes and tokens at one place of the funnel. */
export type FunnelPart = SchemaType<typeof FUNNEL_PART>;

const FUNNEL_VIEW = objectSchema({
  fetched: FUNNEL_PART,
  /** Set for a program only. */
  seen: FUNNEL_PART.exactOptional(),
  /** Missing until there is a result. */
  returned: FUNNEL_PART.exactOptional(),
});

/** Three amounts: returned by tools, handed to the programs, given to the model. */
export type FunnelView = SchemaType<typeof FUNNEL_VIEW>;

const LOG_VIEW = objectSchema({
  stream: z.enum(["stdout", "stderr"]),
  text: z.string(),
  /** Lines that were left out before it. */
  dropped: count.exactOptional(),
});

/** Text that was printed in one turn. */
export type LogView = SchemaType<typeof LOG_VIEW>;

const FAULT_VIEW = objectSchema({
  name: z.string(),
  message: z.string(),
  code: z.string().exactOptional(),
  tool: z.string().exactOptional(),
  line: count.exactOptional(),
  column: count.exactOptional(),
});

/** A fault of the program, in terms of its source. */
export type FaultView = SchemaType<typeof FAULT_VIEW>;

const OUTCOME_VIEW = objectSchema({
  /** Type of the ending, like `completed` or `answered`. */
  type: z.string(),
  fault: FAULT_VIEW.exactOptional(),
  /** Limit that stopped it. */
  limit: z.string().exactOptional(),
});

/** The ending of an execution. */
export type OutcomeView = SchemaType<typeof OUTCOME_VIEW>;

const EVENT_VIEW = objectSchema({
  type: z.string(),
  text: z.string(),
  /** Milliseconds since 1970. */
  at: count,
});

export type EventView = SchemaType<typeof EVENT_VIEW>;

const ARTIFACT_VIEW = objectSchema({
  name: z.string(),
  bytes: count,
  shape: z.string(),
  call: z.string(),
});

const VIEW_BASE = objectSchema({
  execution: z.string(),
  /** What it is called, in one line: of a program its head comment, or its tools, or its first line; the task; the tool. */
  title: z.string(),
  /** `waiting`: it continues only with a decision, a client's result or, in a conversation, the user. */
  state: z.enum(["running", "waiting", "ended"]),
  tenant: z.string(),
  /** Milliseconds since 1970. */
  startedAt: count,
  /** Milliseconds since 1970, of the last record that has a time. */
  lastAt: count,
  /** Number of records that were read. */
  records: count,
  /** Whether a driver holds the execution. */
  driven: z.boolean(),
  /** Milliseconds since 1970 until which its driver holds it at least; missing without a driver or a lease. */
  drivenUntil: count.exactOptional(),
  /** What a worker must have to take it up, if those that looked at it did not have that. */
  needs: NEEDS.exactOptional(),
  parent: objectSchema({ execution: z.string(), call: z.string() }).exactOptional(),
  versions: z.array(objectSchema({ name: z.string(), text: z.string() })),
  outcome: OUTCOME_VIEW.exactOptional(),
  /** The text that the model or the caller gets. */
  output: TEXT_HEAD.exactOptional(),
  waiting: z.array(WAITING_VIEW),
  calls: z.array(CALL_VIEW),
  /** Number of the latest calls that are not in `calls`, because there are very many. */
  callsLeft: count.exactOptional(),
  limits: z.array(LIMIT_VIEW),
  funnel: FUNNEL_VIEW,
  /** Events beside calls: restarts, violations, connections, retries, drivers that took the execution up. */
  events: z.array(EVENT_VIEW),
  notes: z.array(z.string()),
  artifacts: z.array(ARTIFACT_VIEW),
});

const TOOL_PLACES = objectSchema({
  tool: z.string(),
  lines: z.array(count),
});

/**
 * The lines of a program that name a tool. With more than one line, the journal does not tell which of them made a
 * call.
 */
export type ToolPlaces = SchemaType<typeof TOOL_PLACES>;

const PROGRAM_VIEW = objectSchema({
  ...VIEW_BASE.shape,
  kind: z.literal("program"),
  language: z.string(),
  sandbox: z.string(),
  /** The execution that it corrects, and whose answers it may be given again. */
  after: z.string().exactOptional(),
  source: z.string(),
  /** Lines of the source, counted from 1, that name a tool. */
  places: z.array(TOOL_PLACES),
  logs: z.array(LOG_VIEW),
});

/** The execution of one program. */
export type ProgramView = SchemaType<typeof PROGRAM_VIEW>;

const HOST_CALL_VIEW = objectSchema({ ...VIEW_BASE.shape, kind: z.literal("call") });

/** One call of a host. */
export type HostCallView = SchemaType<typeof HOST_CALL_VIEW>;

const SAID_VIEW = objectSchema({
  by: z.enum(["user", "host"]),
  text: TEXT_HEAD,
});

export type SaidView = SchemaType<typeof SAID_VIEW>;

const PROGRAM_CALL_VIEW = objectSchema({
  id: z.string(),
  /** Its execution; missing if the program ran at the provider, or was never begun. */
  execution: z.string().exactOptional(),
  /** What it is called, in one line. */
  title: z.string(),
  source: TEXT_HEAD,
  /** Number of its calls that have ended, and UTF-8 bytes of their results. Missing if it ran at the provider. */
  calls: count.exactOptional(),
  fetched: count.exactOptional(),
  /** The result that the model got; missing until there is one. */
  result: TEXT_HEAD.exactOptional(),
  isError: z.boolean().exactOptional(),
});

/** A call of a model that runs a program. */
export type ProgramCallView = SchemaType<typeof PROGRAM_CALL_VIEW>;

/** A page or a document that a provider names as a source. */
const SOURCE_VIEW = objectSchema({ url: z.string(), title: z.string().exactOptional() });

/** A call that a provider made itself, as data from outside. */
const HOSTED_CALL_VIEW = objectSchema({
  id: z.string(),
  tool: z.string(),
  input: z.string(),
  /** Missing if no turn tells of its end. */
  isError: z.boolean().exactOptional(),
  output: z.string().exactOptional(),
  sources: z.array(SOURCE_VIEW),
});

export type HostedCallView = SchemaType<typeof HOSTED_CALL_VIEW>;

const MODEL_TURN_VIEW = objectSchema({
  said: z.array(SAID_VIEW),
  /** The model's text. */
  text: TEXT_HEAD,
  model: z.string(),
  /** When it came, in milliseconds since 1970. */
  at: count,
  /** `called`, `answered`, `cut_off` … */
  end: z.string(),
  inputTokens: count,
  outputTokens: count,
  /** Ids of its direct calls, which are among `calls`. */
  calls: z.array(z.string()),
  programs: z.array(PROGRAM_CALL_VIEW),
  /** Calls that the provider made itself. */
  hosted: z.array(HOSTED_CALL_VIEW),
  /** Sources that the text names, as the provider says. */
  citations: z.array(SOURCE_VIEW),
});

export type ModelTurnView = SchemaType<typeof MODEL_TURN_VIEW>;

const CONVERSATION_VIEW = objectSchema({
  ...VIEW_BASE.shape,
  kind: z.literal("conversation"),
  model: z.string(),
  task: z.string(),
  turns: z.array(MODEL_TURN_VIEW),
  /** Messages after the last turn. */
  said: z.array(SAID_VIEW),
  /** Whether it continues only with a message of the user. */
  rests: z.boolean(),
});

/** A model's conversation. Its programs are executions of their own, with views of their own. */
export type ConversationView = SchemaType<typeof CONVERSATION_VIEW>;

export const EXECUTION_VIEW = z.discriminatedUnion("kind", [PROGRAM_VIEW, CONVERSATION_VIEW, HOST_CALL_VIEW]);

/** The view of an execution, made from its journal, for people. */
export type ExecutionView = SchemaType<typeof EXECUTION_VIEW>;

export const VIEW_PATCH = objectSchema({
  /** Fields with their new values. */
  set: z.record(z.string(), z.unknown()),
  /** Names of fields that are gone. */
  unset: z.array(z.string()),
  /** Lists by the names of their fields: their new lengths, and the items that changed or came, each with its index. */
  lists: z.record(
    z.string(),
    objectSchema({ length: count, items: z.array(objectSchema({ index: count, item: z.unknown() })) }),
  ),
});

/** What makes a view out of an earlier view of the same execution. */
export type ViewPatch = SchemaType<typeof VIEW_PATCH>;

/** The data of an event of a stream of views: of `view`, then of each `patch`. */
export const VIEW_EVENT = z.union([EXECUTION_VIEW, VIEW_PATCH]);

export const CALL_TEXTS = objectSchema({
  id: z.string(),
  tool: z.string(),
  input: z.string(),
  rawInput: z.string().exactOptional(),
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered. */
  result: z.string().exactOptional(),
});

/** The whole texts of one call. */
export type CallTexts = SchemaType<typeof CALL_TEXTS>;
