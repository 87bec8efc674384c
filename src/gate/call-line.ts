import { z } from "zod";
import { CALLERS, EFFECTS } from "../tools/tool.ts";
import type { SchemaType } from "../base/index.ts";
import { FAILURE_CODES, REFUSAL_CODES } from "./answer.ts";
import { objectSchema } from "../base/values/object-schema.ts";

export const numberField = z.number().nonnegative();

const CALL_OUTCOME = z.discriminatedUnion("type", [
  /** `shape` is the kind of the result, like `array of 200`. */
  objectSchema({ type: z.literal("value"), shape: z.string() }),
  /** The gate refused the call; the handler did not run. */
  objectSchema({ type: z.literal("refused"), code: z.enum(REFUSAL_CODES) }),
  /** The handler ran, and there is no value. */
  objectSchema({ type: z.literal("failed"), code: z.enum(FAILURE_CODES) }),
  /** The call was given up, or its execution ended, before there was an answer. */
  objectSchema({ type: z.literal("aborted") }),
]);

/** How a call ended. */
export type CallOutcome = SchemaType<typeof CALL_OUTCOME>;

export const CALL_LINE = objectSchema({
  callId: z.string(),
  tool: z.string(),
  caller: z.enum(CALLERS),
  /** Milliseconds from the call to its answer. */
  ms: numberField,
  /** UTF-8 bytes of the result's JSON text; 0 without one. Of a stream, of the items that the program was given. */
  bytes: numberField,
  /** Of a stream: number of the items that the program was given. */
  items: numberField.optional(),
  outcome: CALL_OUTCOME,
  /** Whether the handler was started, and its source did not refuse it. If so, the tool may have taken effect, whatever the outcome. */
  started: z.boolean(),
  /** What the call changed at most. Set if the handler was started and the tool's effect depends on the input. */
  effect: z.enum(EFFECTS).optional(),
  /** What the handler has said to people. No model and no program gets it. */
  display: z.unknown().optional(),
  /** Number of images, files and links of the result that the caller, a program, did not get. */
  partsLeftOut: numberField.optional(),
  /** Digests of the addresses that the result named, which another tool of its source reads (`resources` of `fromMcp`). */
  named: z.array(z.string()).readonly().optional(),
  /** How often the handler was run. Set if it was run again after a failure. */
  attempts: numberField.optional(),
  /** The call of an earlier execution (`corrects`) whose answer it was given. No handler ran for it here. */
  from: objectSchema({ execution: z.string(), callId: z.string() }).optional(),
});

/** One call in a report. */
export type CallLine = SchemaType<typeof CALL_LINE>;
