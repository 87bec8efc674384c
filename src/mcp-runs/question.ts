import type { ApprovalAnswer, ApprovalDecision, ApprovalRequest } from "../gate/approve/approval.ts";
import { callAbout } from "../output/call-about.ts";
import { cleanJson } from "../output/clean-json.ts";
import { INSET, insetText } from "../output/foreign-text.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import { countOf, fieldOf } from "../values/fields.ts";
import type { Elicitation } from "./asking.ts";

const SHOWN_BYTES = 2048;
/** Further calls that one answer allows at most. */
const MOST_MORE = 1_000_000;

export interface Question {
  readonly elicitation: Elicitation;
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
    input,
    grantsLeft,
    ...about
  }: Pick<ApprovalRequest, "tool" | "input" | "effect" | "source" | "description" | "policy" | "grants" | "grantsLeft">,
  who: string,
): Elicitation {
  const more = { type: "integer", minimum: 0, title: `Allow so many more calls of ${tool}, with any input` };
  const shown = cutMiddle(insetText(cleanJson(JSON.stringify(input))), SHOWN_BYTES, INSET);
  return {
    message: `${who} asks to call ${tool} with this input:\n${shown}\n${insetText(callAbout({ ...about, tool }))}`,
    requestedSchema: {
      type: "object",
      properties: {
        allow: { type: "boolean", title: `Allow this call of ${tool}` },
        ...(grantsLeft > 0 && { more }),
      },
      required: ["allow"],
    },
  };
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
