import { z } from "zod";
import { AGENT_ENDING, type AgentEnding } from "../../conversations/ending.ts";
import type { AgentUsage } from "../../conversations/from-journal/transcript.ts";
import type { Artifact } from "../../journal/artifact-space.ts";
import { REPORT, REPORT_ARTIFACT } from "../../executions/output/report-shape.ts";
import type { SchemaType } from "../../base/index.ts";
import { objectSchema } from "../../base/values/object-schema.ts";

const count = z.number().nonnegative();

/** What the conversation has used so far, with its programs and agents. */
const AGENT_USAGE = objectSchema({
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: count,
  turns: count,
  calls: count,
  hostedCalls: count.optional(),
  reused: count.optional(),
}) satisfies z.ZodType<AgentUsage>;

export const CONVERSATION = objectSchema({
  /** Provider and model that answers. */
  model: z.string(),
  task: z.string(),
  turns: count,
  /** Number of the user's messages, the task included. */
  said: count,
  usage: AGENT_USAGE,
  /** Its calls, as a report of the conversation has them. */
  calls: REPORT.shape.calls,
  /** Values that its programs have kept, by name. */
  artifacts: z.array(REPORT_ARTIFACT),
  /** How it has ended, or what it waits for. Missing while it goes on by itself. */
  ending: AGENT_ENDING.optional(),
});

/** A conversation as its journal tells of it. */
export interface ConversationStatus extends Omit<SchemaType<typeof CONVERSATION>, "artifacts" | "ending"> {
  readonly artifacts: readonly Artifact[];
  readonly ending?: AgentEnding;
}
