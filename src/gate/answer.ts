/** The gate said no, and no handler ran. */
export type RefusalCode = "tool_unknown" | "caller_not_allowed" | "budget_spent" | "input_invalid" | "approval_denied";
export const REFUSAL_CODES: readonly RefusalCode[] = [
  "tool_unknown",
  "caller_not_allowed",
  "budget_spent",
  "input_invalid",
  "approval_denied",
];

/** The handler ran and did not succeed. */
export type FailureCode =
  | "handler_failed"
  | "handler_timed_out"
  | "output_invalid"
  | "result_too_large"
  | "budget_spent";

/** What the gate answers to a call: a value as JSON text, or why there is none, in a sentence for whoever called. */
export type Answer =
  | { readonly ok: true; readonly text: string; readonly bytes: number }
  | {
      readonly ok: false;
      readonly code: RefusalCode | FailureCode;
      readonly tool: string;
      readonly message: string;
      /** Of the whole message, in UTF-8, where its middle was left out. */
      readonly wholeBytes?: number;
    };

export function isRefusal(code: string): code is RefusalCode {
  return (REFUSAL_CODES as readonly string[]).includes(code);
}
