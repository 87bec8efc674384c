import type { StoredPart } from "../tools/content.ts";
import type { Overdraft } from "./admit/budget.ts";

/** The gate refused the call, and no handler ran. */
export const REFUSAL_CODES = [
  "tool_unknown",
  "caller_not_allowed",
  "budget_spent",
  "input_invalid",
  "policy_denied",
  "policy_unavailable",
  "approval_denied",
  "approval_unavailable",
  "approval_expired",
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The handler ran, and the caller gets no value. Disjoint from the refusal codes, so that the code alone says whether the handler ran. */
export const FAILURE_CODES = [
  "handler_failed",
  "source_unavailable",
  "handler_timed_out",
  "output_invalid",
  "result_too_large",
  "result_over_budget",
  "outcome_unknown",
  "result_expired",
  "stream_changed",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

interface AnyAnswer {
  /** Who approved the call; "host" if the approver gave no name. Missing if the call needed no approval. */
  readonly approvedBy?: string;
  /** Where the result comes from, as the handler says. */
  readonly from?: string;
  /** Images, files and links, for a model that called directly. */
  readonly parts?: readonly StoredPart[];
  /** Characters that were taken out of it already. */
  readonly redacted?: number;
}

export interface Value extends AnyAnswer {
  readonly ok: true;
  readonly text: string;
  /** UTF-8 bytes of `text`; of a stream, of its items. */
  readonly bytes: number;
  /** Of a stream: how many items its reader was given. The text is then `null`. */
  readonly items?: number;
}

interface NoValue<Code> extends AnyAnswer {
  readonly ok: false;
  readonly code: Code;
  readonly tool: string;
  /** Sentences for the caller. */
  readonly message: string;
  /** UTF-8 bytes of the whole message. Set only if `message` was shortened. */
  readonly wholeBytes?: number;
  /** What the handler gave with its failure, as JSON text. */
  readonly value?: string;
}

export type Refusal = NoValue<RefusalCode>;
export type Failure = NoValue<FailureCode>;

export type Answer = Value | Refusal | Failure;

export interface FailedAnswer {
  readonly answer: Failure;
  readonly error?: unknown;
  readonly overdraft?: Overdraft;
}

/** What came of a handler, before it counts as the call's answer. `shape` is the kind of the result, like `array of 200`. */
export type HandlerAnswer = { readonly answer: Value; readonly shape: string } | FailedAnswer;

/** Whether the sentence of a failure says more than its value, which is JSON text. A long sentence has been cut in its middle. */
export function saysMore({ message }: { readonly message: string }, value: string): boolean {
  return !message.startsWith(value.slice(0, SAME_LENGTH));
}

/** Characters from which a sentence is known to be the value. */
const SAME_LENGTH = 1000;

/** Who approved; undefined if there was no approval. */
export function approverOf(decision: { readonly by?: string | undefined } | undefined): string | undefined {
  return decision && (decision.by ?? "host");
}

/** Whether the gate refused the call, perhaps because its caller must not know of the tool. */
export function isRefusal(answer: Answer): answer is Refusal {
  return !answer.ok && CODES_OF_REFUSALS.has(answer.code);
}

const CODES_OF_REFUSALS: ReadonlySet<string> = new Set(REFUSAL_CODES);

/** Id of the only call of an execution that is one call of a host. */
export const HOST_CALL = "1";

type Outcome =
  | { readonly type: "value"; readonly shape: string }
  | { readonly type: "refused" | "failed"; readonly code: string }
  | { readonly type: "aborted" };

/** Short text of an outcome: the shape of the value, the code, or `aborted`. */
export function outcomeText(outcome: Outcome): string {
  if (outcome.type === "value") return outcome.shape;
  return outcome.type === "aborted" ? outcome.type : outcome.code;
}
