import { z } from "zod";
import type { SchemaType } from "../base/index.ts";
import { objectSchema } from "../base/values/object-schema.ts";
import { CALL_LINE, numberField } from "./call-line.ts";

/** What each event says. Types with names keep the comments of their fields in declaration files. */
export type CommonFields = {
  execution: z.ZodString;
  /** Milliseconds since 1970. */
  at: z.ZodNumber;
};

export type EventSchemas<Fields> = {
  readonly [Type in keyof Fields]: z.ZodObject<{ type: z.ZodLiteral<Type & string> } & CommonFields & Fields[Type]>;
};

/** Schemas of events, from the fields that each type of event has of its own. */
export function eventSchemas<Fields extends Readonly<Record<string, z.core.$ZodLooseShape>>>(
  fields: Fields,
): EventSchemas<Fields> {
  const base: CommonFields = { execution: z.string(), at: z.number() };
  const schemas = Object.entries(fields).map(([type, own]) => [
    type,
    objectSchema({ type: z.literal(type), ...base, ...own }),
  ]);
  return Object.fromEntries(schemas) as EventSchemas<Fields>;
}

export type EventOf<Schemas extends Readonly<Record<string, z.ZodType>>> = SchemaType<Schemas[keyof Schemas]>;

export type EventFields<Event> = Event extends unknown ? Omit<Event, "at"> : never;

const CALLED = CALL_LINE.pick({ callId: true, tool: true, caller: true }).shape;

/** Is for the operator and may hold anything. */
const error = z.unknown().optional();

export type EndedFields = typeof CALL_LINE.shape & { error: typeof error };
const ENDED: EndedFields = { ...CALL_LINE.shape, error };

export const CALL_EVENTS = eventSchemas({
  call_started: {
    ...CALLED,
    /** Where it runs, if not in a handler of the host: `client`, `agent`, `mcp NAME` or `openapi NAME`. */
    place: z.string().optional(),
  },
  /** The handler has failed, and runs again after `delayMs`. `attempt` counts from 1. */
  call_retried: { ...CALLED, attempt: numberField, delayMs: numberField, error },
  /** Its approver was asked and has failed, so it waits for a decision. */
  call_undecided: { ...CALLED, error },
  /** Of a stream: the items that the program was given so far, and the bytes of their JSON. */
  call_streamed: { ...CALLED, items: numberField, bytes: numberField },
  call_ended: ENDED,
});

/** An event of a call. `error` is for the operator and may hold anything. */
export type CallEvent = EventOf<typeof CALL_EVENTS>;
