import { z } from "zod";
import { CALL_LINE } from "../../gate/call-line.ts";
import { ABOUT, CONVERSATION } from "../../runtime/executions/index.ts";
import { SCOPES } from "../http/keys.ts";
import { PROBLEM_CODES } from "../http/problems.ts";
import { HTTP_EVENT } from "./event-shapes.ts";
import { REPORT, USAGE } from "../../executions/output/index.ts";
import { CLIENT_OUTCOME, FAULT, WAITING } from "../../executions/outcome.ts";
import { CALLERS } from "../../tools/tool.ts";
import { FACT_APPROVALS, FACT_EFFECTS } from "../../tools/tool-facts.ts";
import { LIST_ROW } from "../views/list/list.ts";

/*
 * What is answered, for the OpenAPI document: the shapes of the library, in the answers of each route. A test holds real answers to it.
 */

const text = z.string();
const number = z.number();
const isTrue = z.literal(true).optional();

/** Names of the schemas in the document, of which generators make the names of types. */
export const ANSWER_NAMES = z.registry<{ id: string }>();

function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  ANSWER_NAMES.add(schema, { id });
  return schema;
}

function object<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return named(id, z.object(shape));
}

named("Outcome", CLIENT_OUTCOME);
named("Fault", FAULT);
named("Waiting", WAITING);
named("Usage", USAGE);
named("Call", CALL_LINE);
named("Conversation", CONVERSATION);
named("Listed", LIST_ROW);
named("Event", HTTP_EVENT);

object("Problem", {
  error: z.object({
    code: z.enum(PROBLEM_CODES).describe("stable, for code to act on"),
    message: text.describe("a sentence for people"),
  }),
});

/** The report of a program that has ended or waits. */
export const REPORT_ANSWER = named(
  "Report",
  ABOUT.pick({ execution: true, kind: true, state: true }).extend(REPORT.shape),
);

export const CONVERSATION_STATUS = named("ConversationStatus", ABOUT.extend({ conversation: CONVERSATION }));

/** With the report of a program that has ended or waits. */
export const STATUS = named("Status", z.union([ABOUT.extend(REPORT.shape), CONVERSATION_STATUS, ABOUT]));

/** A tool as a model is given it. */
const GIVEN_TOOL = z.object({ name: text, description: text, inputSchema: z.looseObject({}) });

export const LISTED_TOOL = object("Tool", {
  name: text,
  description: text,
  allowedCallers: z.array(z.enum(CALLERS)).describe("who may call it, of the callers of this key"),
  effect: z.enum(FACT_EFFECTS).describe("what a call changes at most"),
  approval: z.enum(FACT_APPROVALS).describe("whether calls wait for a decision"),
  place: text.describe("where calls run: `here`, `client`, `agent`, `mcp NAME` or `openapi NAME`"),
  stub: text.optional().describe("how a program calls it, with types; missing if none may"),
  source: text.optional().describe("the server or document that it comes from"),
  stream: isTrue.describe("it gives its items one at a time"),
  client: isTrue.describe("its calls wait for a client's result"),
});

export const TOOLS_ANSWER = object("Tools", {
  run_program: GIVEN_TOOL.describe("give it to a model, and run its `code` by POST /v1/executions"),
  search_tools: GIVEN_TOOL.optional().describe(
    "give it to a model too: the tools are too many to be described in run_program",
  ),
  languages: z.array(text),
  scopes: z.array(z.enum(SCOPES)).describe("what this key may do"),
  tools: z.array(LISTED_TOOL).describe("the tools that this key may call, by name"),
  cursor: text.optional().describe("for the next page; missing on the last one"),
});

export const FOUND_TOOLS = object("FoundTools", {
  tools: z.array(
    z.object({
      name: text,
      stub: text,
      description: text,
      why: text.optional().describe("words that found it, if none of the query's own did"),
    }),
  ),
});

export const MODELS = object("Models", {
  models: z.array(text).describe("names of models, the default first; none if there are none"),
  maxTurns: number,
  maxTokens: number,
  object: z.literal("list"),
  data: z
    .array(
      z.object({
        id: text,
        object: z.literal("model"),
        created: number,
        owned_by: text,
        type: z.literal("model"),
        display_name: text,
        created_at: text,
      }),
    )
    .describe("the same models without their providers, as clients of OpenAI and Anthropic list them"),
  has_more: z.boolean(),
  first_id: text.nullable(),
  last_id: text.nullable(),
});

export const ACCEPTED = named("Accepted", ABOUT.pick({ execution: true, state: true }));

export const LIST = object("List", {
  executions: z.array(LIST_ROW),
  cursor: text.optional().describe("for the next page; missing on the last one"),
});

export const HEALTH = object("Health", { status: z.literal("ok") });
export const READY = object("Ready", {
  status: z.literal("ready"),
  /** What was found out about a journal in a database; `weak` holds a promise only in part. */
  journal: z.array(z.object({ what: text, state: z.enum(["good", "weak"]) })).optional(),
});

export const ARTIFACT = named("Artifact", z.unknown());
