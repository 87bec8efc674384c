import { z } from "zod";
import { numberField } from "../gate/call-line.ts";
import { type CallEvent, type EventOf, eventSchemas } from "../gate/call-event.ts";
import { OUTCOME, type Outcome, UNREPLAYABLE, WAITING, type Waiting } from "./outcome.ts";

const outcome: z.ZodType<Outcome> = OUTCOME;
const waiting: z.ZodType<Waiting> = WAITING;

/** The events of a program beside those of its calls. */
export const PROGRAM_EVENTS = eventSchemas({
  /** `corrects`: the execution that it corrects, and whose answers it may be given again. */
  execution_started: { corrects: z.string().optional() },
  /**
   * The execution waits for a place among the executions that run at once (`createRuntime({ executions })`).
   * `execution` is its id if its caller chose the id, else empty.
   */
  execution_queued: { tenant: z.string(), running: numberField, waiting: numberField },
  /**
   * The program was checked against the declarations of its tools, and its first call goes on. `not_made`: the compiler is
   * missing, failed or took too long. `findings`: how many calls and fields are wrong. `ms`: from the begin of the check.
   */
  program_checked: {
    verdict: z.enum(["right", "warned", "refused", "not_made"]),
    findings: numberField,
    ms: numberField,
  },
  output: { text: z.string() },
  execution_waiting: {
    waiting,
    /**
     * Why the program keeps its process and its driver while it waits: it used something that a replay cannot reproduce.
     * Missing for a program that was put down.
     */
    held: UNREPLAYABLE.optional(),
  },
  execution_ended: { outcome },
});

/** An event of an execution. */
export type ExecutionEvent = EventOf<typeof PROGRAM_EVENTS> | CallEvent;
