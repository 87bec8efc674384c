import type { Caller } from "../tools/tool.ts";

/** A call that waits for an approval decision. */
export interface ApprovalRequest<Context = unknown> {
  readonly execution: string;
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** The input as the caller sent it. The handler runs with the same input. */
  readonly input: unknown;
  /** SHA-256 in hex of the input's JSON text. */
  readonly inputDigest: string;
  readonly tenant: string;
  /** The `context` of the execution, conversation or call; undefined where none was given. */
  readonly context: Context;
  /** Aborted when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

export interface ApprovalDecision {
  readonly allow: boolean;
  /** Who decided; for the journal. */
  readonly by?: string;
  /** For the journal; the caller reads the note of a denial. */
  readonly note?: string;
}

/** What an approver answers. `"later"`: the decision comes by `runtime.decide` or `runtime.resume`. */
export type ApprovalAnswer = boolean | "later" | ApprovalDecision;

/**
 * Decides about a call. Only `true` and `{ allow: true }` approve, and `"later"` keeps the call waiting. Anything else
 * denies, and so does a rejection.
 */
export type Approve<Context = unknown> = (
  request: ApprovalRequest<Context>,
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Approval state of a call that needs approval. */
export type Approval =
  | { readonly type: "held" }
  | { readonly type: "approved" | "denied"; readonly by?: string; readonly note?: string };

/** An approval that was given or denied. */
export type DecidedApproval = Exclude<Approval, { type: "held" }>;

/** Maximum lengths of `by` and `note`, in UTF-16 units; the rest is cut off. */
const BY_LENGTH = 256;
const NOTE_LENGTH = 2048;

/** Asks for a decision. Never rejects. */
export async function askApproval(
  approve: Approve | undefined,
  request: Omit<ApprovalRequest, "input">,
  inputText: string,
): Promise<DecidedApproval | "later"> {
  try {
    return readAnswer(await approve?.({ ...request, input: JSON.parse(inputText) as unknown }));
  } catch {
    return { type: "denied" };
  }
}

function readAnswer(answer: unknown): DecidedApproval | "later" {
  if (answer === "later") return answer;
  if (typeof answer !== "object" || answer === null) return { type: answer === true ? "approved" : "denied" };
  const own = (name: string): unknown =>
    Object.hasOwn(answer, name) ? answer[name as keyof typeof answer] : undefined;
  const [by, note] = [own("by"), own("note")];
  return {
    type: own("allow") === true ? "approved" : "denied",
    ...(typeof by === "string" ? { by: by.slice(0, BY_LENGTH) } : {}),
    ...(typeof note === "string" ? { note: note.slice(0, NOTE_LENGTH) } : {}),
  };
}
