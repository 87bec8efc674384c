import { z } from "zod";
import { type Limits, LIMIT_RULES } from "./limits.ts";
import type { Ending } from "./outcome.ts";

const text = z.string();
const count = z.number().nonnegative();

/** The limits that end a program. */
const LIMITS = (Object.keys(LIMIT_RULES) as (keyof Limits)[]).filter((name) => name !== "waitMs");

/** An ending as the outcome of a program's execution has it: without its value, which is in the last turn. */
const ENDING = z.discriminatedUnion("type", [
  z.object({ type: z.literal("completed") }),
  z.object({
    type: z.literal("failed"),
    fault: z.object({
      name: text,
      message: text,
      code: text.exactOptional(),
      tool: text.exactOptional(),
      unawaited: text.exactOptional(),
      line: count.exactOptional(),
      column: count.exactOptional(),
      excerpt: text.exactOptional(),
    }),
  }),
  z.object({
    type: z.literal("stopped"),
    limit: z.enum([...LIMITS, "heldBytes", "queue"]),
    allowed: count,
    seen: count,
  }),
  z.object({
    type: z.literal("crashed"),
    code: z.enum(["engine_died", "bridge_broken", "replay_diverged"]),
    detail: text,
  }),
  z.object({ type: z.literal("cancelled") }),
]);

type PastEnding = Exclude<Ending, { type: "completed" | "waiting" }> | { readonly type: "completed" };

/** Reads the text of an outcome, which may come from elsewhere; undefined if it is no ending of a program. */
export function parseEnding(outcome: string): PastEnding | undefined {
  try {
    const parsed = ENDING.safeParse(JSON.parse(outcome));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
