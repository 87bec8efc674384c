import { z } from "zod";
import { CALL_LINE } from "../../gate/call-line.ts";
import { CONVERSATION } from "../../executions/conversation-status.ts";
import { ABOUT } from "../../executions/listed-execution.ts";
import { HTTP_EVENT } from "./event-shapes.ts";
import { REPORT, USAGE } from "../../output/report-shape.ts";
import { CLIENT_OUTCOME, FAULT, WAITING } from "../../programs/outcome.ts";
import { LIST_ROW } from "../../views/list/list.ts";
import { CALL_TEXTS, CALL_VIEW, EXECUTION_VIEW, TEXT_HEAD } from "../../views/view.ts";

/** What is answered, for the OpenAPI document: the shapes of the library, in the answers of each route. A test holds real answers to it. */

export const PROBLEM = z.object({
  error: z.object({
    code: z.string().meta({ description: "stable, for code to act on" }),
    message: z.string().meta({ description: "a sentence for people" }),
  }),
});

/** The report of a program that has ended or waits. */
export const REPORT_ANSWER = ABOUT.pick({ execution: true, kind: true, state: true }).extend(REPORT.shape);

export const STATUS = z
  .union([ABOUT.extend(REPORT.shape), ABOUT.extend({ conversation: CONVERSATION }), ABOUT])
  .meta({ description: "what the journal tells: with the report of a program that has ended or waits" });

export const ACCEPTED = ABOUT.pick({ execution: true, state: true });

export const LIST = z.object({
  executions: z.array(LIST_ROW),
  cursor: z.string().exactOptional().meta({ description: "for the next page; missing on the last one" }),
});

export const HEALTH = z.object({ status: z.literal("ok") });
export const READY = z.object({ status: z.literal("ready") });

export const ARTIFACT = z.unknown().meta({ description: "the value, as JSON" });

/** Names of the schemas in the document, of which generators make the names of types. */
export const ANSWER_NAMES: ReadonlyMap<z.ZodType, string> = new Map<z.ZodType, string>([
  [PROBLEM, "Problem"],
  [CLIENT_OUTCOME, "Outcome"],
  [FAULT, "Fault"],
  [WAITING, "Waiting"],
  [USAGE, "Usage"],
  [CALL_LINE, "Call"],
  [REPORT_ANSWER, "Report"],
  [STATUS, "Status"],
  [ACCEPTED, "Accepted"],
  [LIST_ROW, "Listed"],
  [LIST, "List"],
  [HEALTH, "Health"],
  [READY, "Ready"],
  [EXECUTION_VIEW, "View"],
  [CALL_VIEW, "CallView"],
  [TEXT_HEAD, "TextHead"],
  [CALL_TEXTS, "CallTexts"],
  [ARTIFACT, "Artifact"],
  [HTTP_EVENT, "Event"],
]);
