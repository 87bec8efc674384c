import { z } from "zod";

/** What is answered, for the OpenAPI document. A test holds real answers to it. */

const count = z.number().min(0);
const kind = z.enum(["program", "conversation", "call"]);
const state = z.enum(["running", "waiting", "ended", "unreadable"]);
const execution = z.string().meta({ description: "id of the execution" });
const startedAt = z.number().meta({ description: "milliseconds since 1970" });

export const PROBLEM = z.strictObject({
  error: z.strictObject({
    code: z.string().meta({ description: "stable, for code to act on" }),
    message: z.string().meta({ description: "a sentence for people" }),
  }),
});

/** A recursive schema of JSON is more than generators of clients can read. */
const json = z.unknown().meta({ description: "JSON" });

const approval = z.strictObject({
  callId: z.string(),
  tool: z.string(),
  input: json,
  inputDigest: z.string(),
  since: count,
  why: z.enum(["approval", "outcome_unknown"]),
});

const waiting = z.strictObject({
  type: z.literal("waiting"),
  approvals: z.array(approval),
  calls: z.array(z.strictObject({ callId: z.string(), tool: z.string(), input: json, since: count })),
});

const fault = z.looseObject({ name: z.string(), message: z.string(), code: z.string().optional() });

export const OUTCOME = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("completed"), value: json.optional() }),
    z.strictObject({ type: z.literal("failed"), fault }),
    z.strictObject({ type: z.literal("stopped"), limit: z.string(), allowed: count, seen: count }),
    z.strictObject({ type: z.literal("crashed"), code: z.string() }),
    z.strictObject({ type: z.literal("cancelled") }),
    waiting,
  ])
  .meta({ description: "as `report.outcome` of the library" });

const callLine = z
  .looseObject({
    callId: z.string(),
    tool: z.string(),
    caller: z.enum(["direct", "programmatic"]),
    ms: count,
    bytes: count,
    outcome: z.looseObject({ type: z.enum(["value", "refused", "failed", "aborted"]) }),
    started: z.boolean(),
  })
  .meta({ description: "one call, as in `report.calls` of the library" });

const artifacts = z.array(z.strictObject({ name: z.string(), bytes: count, shape: z.string() }));

const report = {
  outcome: OUTCOME,
  output: z.looseObject({ text: z.string(), isError: z.boolean() }),
  usage: z.looseObject({ calls: count, bytesIn: count, bytesSeen: count, bytesOut: count }),
  calls: z.array(callLine),
  logs: z.looseObject({ text: z.string(), lines: count, bytes: count, dropped: count }),
  artifacts,
  notes: z.array(z.string()),
  remarks: z.array(z.string()),
};

/** The report of a program that has ended or waits. */
export const REPORT = z.strictObject({ execution, kind: z.literal("program"), state, ...report });

const about = { execution, kind, state, startedAt, records: count, waitsFor: z.array(z.string()) };

export const STATUS = z
  .union([
    z.strictObject({ ...about, ...report }),
    z.strictObject({
      ...about,
      conversation: z.looseObject({ model: z.string(), task: z.string(), turns: count, artifacts }),
    }),
    z.strictObject(about),
  ])
  .meta({ description: "what the journal tells: with the report of a program that has ended or waits" });

export const ACCEPTED = z.strictObject({ execution, state });

export const LISTED = z.strictObject({
  ...about,
  tenant: z.string(),
  driven: z.boolean().meta({ description: "whether a driver has it" }),
  title: z.string().meta({ description: "the beginning of the program or the task" }),
  by: z.string().meta({ description: "language of a program, model of a conversation" }),
  tools: z.array(z.string()),
  outcome: z.string().optional().meta({ description: "type of the ending" }),
  ms: count.optional().meta({ description: "from start to end" }),
  parent: z.string().optional().meta({ description: "the execution whose call has started it" }),
});

export const LIST = z.strictObject({
  executions: z.array(LISTED),
  cursor: z.string().optional().meta({ description: "for the next page; missing on the last one" }),
});

export const HEALTH = z.strictObject({ status: z.literal("ok") });
export const READY = z.strictObject({ status: z.literal("ready") });

export const VIEW = z
  .looseObject({ execution, kind, state: z.string(), calls: z.array(z.looseObject({ id: z.string() })) })
  .meta({ description: "what the page shows of it" });
export const CALL_TEXTS = z.strictObject({
  id: z.string(),
  tool: z.string(),
  input: z.string().meta({ description: "JSON text" }),
  result: z.string().optional().meta({ description: "JSON text" }),
});
export const ARTIFACT = z.unknown().meta({ description: "the value, as JSON" });

/** Names of the schemas in the document, of which generators make the names of types. */
export const ANSWER_NAMES: ReadonlyMap<z.ZodType, string> = new Map<z.ZodType, string>([
  [PROBLEM, "Problem"],
  [OUTCOME, "Outcome"],
  [REPORT, "Report"],
  [STATUS, "Status"],
  [ACCEPTED, "Accepted"],
  [LISTED, "Listed"],
  [LIST, "List"],
  [HEALTH, "Health"],
  [READY, "Ready"],
  [VIEW, "View"],
  [CALL_TEXTS, "CallTexts"],
  [ARTIFACT, "Artifact"],
]);
