import { z } from "zod";
import type { SchemaType } from "../../base/index.ts";
import { objectSchema } from "../../base/values/object-schema.ts";
import { AGENT_ENDING, type AgentEnding } from "../../conversations/event.ts";
import type { AgentUsage } from "../../conversations/from-journal/conversation-state.ts";
import { numberField as count } from "../../gate/call-line.ts";
import type { Artifact } from "../../journal/artifact-space.ts";
import { REPORT, REPORT_ARTIFACT } from "../../executions/output/report-shape.ts";

/** What an execution needs of a worker. */
export const NEEDS = objectSchema({
  /** `protocol`: a version of the package whose guest speaks the protocol that it began with. */
  what: z.enum(["tools", "sandbox", "protocol", "model"]),
  names: z.array(z.string()),
});

/** What lists, statuses and views tell of each execution. */
export const ABOUT = objectSchema({
  /** Its id in the journal. */
  execution: z.string(),
  kind: z.enum(["program", "conversation", "call"]),
  /**
   * `ended`: it has an outcome. `waiting`: only a decision, a client's result or, in a conversation, the user brings it
   * further. `unreadable`: its records cannot be read. `unread`: it has more records than a list reads; its status tells
   * how it stands. `running`: anything else.
   */
  state: z.enum(["running", "waiting", "ended", "unread", "unreadable"]),
  tenant: z.string(),
  /** Milliseconds since 1970. */
  startedAt: z.number(),
  /** Number of its records. */
  records: count,
  /**
   * Whether a driver holds its lease. An execution that runs and is not driven was left by a driver that died, or its
   * calls were decided since: `recover` takes it up.
   */
  driven: z.boolean(),
  /** Names of the tools whose calls it waits for, each once. */
  waitsFor: z.array(z.string()),
  /**
   * What a worker of its fleet must have to take it up, if those that looked did not have that: it waits for one. Its
   * `state` is `running`.
   */
  needs: NEEDS.optional(),
  /** Milliseconds from its start to its end. */
  ms: count.optional(),
  /**
   * The conversation or program whose call has started it, which waits for the same calls and goes on with it. Of an
   * execution that has ended, only the lists of the HTTP server tell it.
   */
  parent: z.string().optional(),
});

export const LISTED = objectSchema({
  ...ABOUT.shape,
  /** Type of the ending, like `completed` or `answered`; `unreadable` if the ending cannot be read. Missing if the execution is open. */
  outcome: z.string().optional(),
});

/** An execution or a conversation in the journal. */
export type ListedExecution = SchemaType<typeof LISTED>;

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
