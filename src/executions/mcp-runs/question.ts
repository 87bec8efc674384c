import type { ApprovalAnswer, ApprovalDecision, ApprovalRequest } from "../../gate/approve/approval.ts";
import { callAbout } from "../output/call-about.ts";
import { countOf, fieldOf, insetText } from "../../base/index.ts";
import { shownInput } from "../output/input-text.ts";
import type { Elicitation } from "./request.ts";

/** Further calls that one answer allows at most. */
const MOST_MORE = 1_000_000;

export interface Question {
  readonly elicitation: Elicitation;
  /** Whether the question shows all that a person has to know to allow the call. */
  readonly isClear: boolean;
  readonly answer: (answer: ApprovalAnswer) => void;
  readonly fail: (error: unknown) => void;
  /** Whether a request of the client is asking it. */
  isAsked: boolean;
  /** The first round that gave the question to a client. */
  round: number | undefined;
}

export function elicitationFor(
  {
    tool,
    grantsLeft,
    ...about
  }: Pick<
    ApprovalRequest,
    "tool" | "input" | "rawInput" | "effect" | "source" | "description" | "policy" | "grants" | "grantsLeft"
  >,
  who: string,
): Pick<Question, "elicitation" | "isClear"> {
  const more = { type: "integer", minimum: 0, title: `Allow so many more calls of ${tool}, with any input` };
  const { text, isWhole } = shownInput(about);
  const elicitation = {
    message: `${who} asks to call ${tool} with this input:\n${text}\n${insetText(callAbout({ ...about, tool }))}`,
    requestedSchema: {
      type: "object",
      properties: {
        // Not required: who accepts the form without it has not allowed the call, and has made no mistake.
        allow: { type: "boolean", title: `Allow this call of ${tool}`, default: false },
        ...(grantsLeft > 0 && { more }),
      },
    },
  };
  return { elicitation, isClear: isWhole };
}

/** A call is allowed only by an accepted form that says `allow: true`. */
export function decisionOf(response: unknown): ApprovalDecision {
  const content = fieldOf(response, "action") === "accept" ? fieldOf(response, "content") : undefined;
  const allow = fieldOf(content, "allow") === true;
  const more = countOf(content, "more");
  return {
    allow,
    by: "the user of the MCP client",
    ...(allow && more > 0 && { grant: { calls: Math.min(more, MOST_MORE) } }),
  };
}
