import { z } from "zod";
import { CONVERSATION_EVENTS, BARE_ENDING } from "../../conversations/event.ts";
import { CALL_LINE } from "../../gate/call-line.ts";
import { CALL_EVENTS, type EventOf, eventSchemas } from "../../gate/call-event.ts";
import { RECORD_SCHEMAS } from "../../journal/reading/index.ts";
import { REPORT_ARTIFACT } from "../../executions/output/index.ts";
import { PROGRAM_EVENTS } from "../../executions/event.ts";
import { BARE_CLIENT_OUTCOME, BARE_WAITING, UNREPLAYABLE } from "../../executions/outcome.ts";

const text = z.string();
const { callId, tool, caller } = CALL_LINE.shape;

const { host, port, outcome, bytesUp, bytesDown, ms } = RECORD_SCHEMAS.egress.shape;

/** Events over HTTP that the library does not tell. */
const OF_HTTP = eventSchemas({
  /** Another driver continues the execution. */
  execution_resumed: {},
  /** Its engine was replaced. */
  execution_restarted: {},
  call_waiting: { callId, tool, caller, for: z.enum(["decision", "result"]) },
  call_decided: {
    callId,
    allow: z.boolean(),
    /** The call had been done already. */
    done: z.literal(true).optional(),
    by: text.optional(),
    note: text.optional(),
  },
  call_answered: { callId, ok: z.boolean() },
  user_said: { text },
  artifact_kept: { ...REPORT_ARTIFACT.shape, callId },
  connection_ended: { host, port, outcome, bytesUp, bytesDown, ms },
});

/** Events over HTTP: those of the library without what is for the operator or may be large, and those of HTTP alone. */
export const HTTP_EVENTS = {
  execution_started: PROGRAM_EVENTS.execution_started,
  output: PROGRAM_EVENTS.output,
  /** `host`: a call of the host itself, which only the host can go on with. */
  execution_waiting: PROGRAM_EVENTS.execution_waiting.extend({
    waiting: BARE_WAITING,
    held: z.enum([...UNREPLAYABLE.options, "host"]).optional(),
  }),
  execution_ended: PROGRAM_EVENTS.execution_ended.extend({ outcome: BARE_CLIENT_OUTCOME }),
  call_started: CALL_EVENTS.call_started,
  call_retried: CALL_EVENTS.call_retried.omit({ error: true }),
  call_streamed: CALL_EVENTS.call_streamed,
  call_ended: CALL_EVENTS.call_ended.omit({ error: true, display: true, named: true }),
  conversation_started: CONVERSATION_EVENTS.conversation_started,
  model_changed: CONVERSATION_EVENTS.model_changed,
  turn_ended: CONVERSATION_EVENTS.turn_ended,
  conversation_waiting: CONVERSATION_EVENTS.conversation_waiting.extend({ waiting: BARE_WAITING }).omit({ held: true }),
  /** `null`: its host asked for one turn alone. */
  conversation_resting: CONVERSATION_EVENTS.conversation_resting.extend({ ending: BARE_ENDING.nullable() }),
  /** `crashed`: it was broken off. */
  conversation_ended: CONVERSATION_EVENTS.conversation_ended.extend({
    ending: z.discriminatedUnion("type", [...BARE_ENDING.options, z.object({ type: z.literal("crashed") })]),
  }),
  ...OF_HTTP,
};

export const HTTP_EVENT = z
  .union(Object.values(HTTP_EVENTS))
  .describe("an event of a stream; texts are cut, and there are no values and no inputs");

export type HttpEvent = EventOf<typeof HTTP_EVENTS>;
