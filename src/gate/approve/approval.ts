import type { Caller, Effect, Tool } from "../../tools/tool.ts";
import { describe, ignore, isAnyObject, isFields, PortcullisError } from "../../base/index.ts";
import { type Grant, type GrantLeft, readGrant } from "./grant-terms.ts";

/** A call that waits for an approval decision. */
export interface ApprovalRequest<Context = unknown> {
  readonly execution: string;
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** What the call changes: the tool's `effect`, or what its function says of the input. */
  readonly effect: Effect;
  /** Name of the source that the tool comes from, like an MCP server; undefined for the host's own. */
  readonly source: string | undefined;
  /** Why the runtime's policy asks; undefined if a rule of the tool does. */
  readonly policy?: string | undefined;
  /** The tool's description. If it comes from a source, this is foreign text. */
  readonly description: string;
  /** What is left of the grants for calls of this tool, if it does not fit them. */
  readonly grants?: readonly GrantLeft[];
  /** How many more grants the execution may have. A decision with one more denies the call. */
  readonly grantsLeft: number;
  /** The input that the handler is given, as JSON has it: dates are texts. */
  readonly input: unknown;
  /** The input as the caller sent it, if the tool's schema has made another one of it. */
  readonly rawInput?: unknown;
  /** SHA-256 in hex of the JSON text of `input`, with what was sent if that differs. */
  readonly inputDigest: string;
  readonly tenant: string;
  /** The `context` of the execution, conversation or call; undefined if none was given. */
  readonly context: Context;
  /** Aborted when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

export interface ApprovalDecision {
  readonly allow: boolean;
  /** Who decided; for the journal, and for a model that reads the result of a call that it made. */
  readonly by?: string;
  /** For the journal; the caller reads the note of a denial. */
  readonly note?: string;
  /** Decides later calls of the same execution with the same tool and the same input alike, without asking. */
  readonly remember?: "execution";
  /** Allows further calls of the same tool in the same execution, beside this one. Calls that do not fit it are asked about again. */
  readonly grant?: Grant;
  /** Values for the fields that a question asks for, and for no other request. They are not journalled. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** What an approver answers. `"later"`: the decision comes by `decide` or `resume` of `runtime.execution(id)`. */
export type ApprovalAnswer = boolean | "later" | ApprovalDecision;

/**
 * Decides about a call. Only `true` and `{ allow: true }` approve, `false` and `{ allow: false }` deny, and `"later"` keeps
 * the call waiting. An approver that fails, or answers anything else, decides nothing: with a journal that outlives the
 * process the call waits for a decision, and without one it is refused as `approval_unavailable`. A decision with a grant
 * that cannot be given denies.
 */
export type Approve<Context = unknown> = (
  request: ApprovalRequest<Context>,
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Approval state of a call that needs approval. */
export type Approval =
  | { readonly type: "held" }
  | ({ readonly type: "approved" | "denied" } & DecisionDetails & {
        readonly grant?: Grant;
      });

/** The parts of a decision that the journal keeps as they are. */
export type DecisionDetails = Omit<ApprovalDecision, "allow" | "fields" | "grant">;

export type FinalApproval = Exclude<Approval, { type: "held" }>;

/** Maximum lengths of `by` and `note`, in UTF-16 units; the rest is cut off. */
export const BY_LENGTH = 256;
export const NOTE_LENGTH = 2048;

/** What came of asking. `error` is for the operator. */
type ApprovalResult =
  | {
      readonly approval: FinalApproval | "later";
      readonly fields?: Readonly<Record<string, unknown>>;
      readonly error?: unknown;
    }
  | { readonly approval: "none"; readonly fields?: undefined; readonly error: unknown };

/** Asks for a decision. Never rejects. `onGrant` throws if the execution may have no more grants. */
export async function askApproval(
  approve: Approve | undefined,
  request: ApprovalRequest,
  onGrant: (callId: string) => void = ignore,
): Promise<ApprovalResult> {
  try {
    const answer: unknown = await approve?.(request);
    if (answer === "later") return { approval: answer };
    if (typeof answer === "boolean") return { approval: { type: answer ? "approved" : "denied" } };
    const allow = isAnyObject(answer) ? ownOf(answer, "allow") : undefined;
    if (typeof allow === "boolean") {
      const decision = answer as object;
      const fields = ownOf(decision, "fields");
      const grant = ownOf(decision, "grant");
      const approval = { type: allow ? "approved" : "denied", ...detailsOf(decision) } as const;
      const own = isFields(fields) && { fields };
      if (grant === undefined) return { approval, ...own };
      try {
        const terms = readGrant("grant", allow ? grant : undefined, request.input);
        onGrant(request.callId);
        return { approval: { ...approval, grant: terms }, ...own };
      } catch (error) {
        // What the approver decided cannot be done: more must not be allowed than was meant, nor less.
        return { approval: { type: "denied" }, error };
      }
    }
    throw new PortcullisError(
      "callback_failed",
      `\`approve\` gave no decision about ${request.tool}: expected true, false, { allow: true | false } or "later", got ${describe(answer)}.`,
    );
  } catch (error) {
    return { approval: "none", error };
  }
}

function ownOf(answer: object, name: string): unknown {
  return Object.hasOwn(answer, name) ? answer[name as keyof typeof answer] : undefined;
}

/** The fields of a decision except `allow`, `fields` and `grant`, with texts cut to their bounds. Unknown fields are left out. */
export function detailsOf(decision: object): DecisionDetails {
  const [by, note] = [ownOf(decision, "by"), ownOf(decision, "note")];
  return {
    by: typeof by === "string" ? by.slice(0, BY_LENGTH) : undefined,
    note: typeof note === "string" ? note.slice(0, NOTE_LENGTH) : undefined,
    remember: ownOf(decision, "remember") === "execution" ? "execution" : undefined,
  };
}

interface AskedCall {
  readonly identity: Pick<ApprovalRequest, "callId" | "tool" | "caller">;
  readonly tool: Tool;
  readonly ruling: { readonly effect: Effect };
  readonly signal: AbortSignal;
}

/** What an approver is told of a call, whatever is asked about it. */
export function approvalAbout(
  { identity, tool, ruling, signal }: AskedCall,
  execution: string,
  { tenant, context }: Pick<ApprovalRequest, "tenant"> & Partial<Pick<ApprovalRequest, "context">>,
) {
  const { source, description } = tool;
  return { execution, ...identity, effect: ruling.effect, source, description, tenant, context, signal };
}
