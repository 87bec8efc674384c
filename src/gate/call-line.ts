import type { Caller, Effect } from "../tools/tool.ts";
import type { FailureCode, RefusalCode } from "./answer.ts";

/** How a call ended. */
export type CallOutcome =
  /** `shape` is the kind of the result, like `array of 200`. */
  | { readonly type: "value"; readonly shape: string }
  /** The gate refused the call; the handler did not run. */
  | { readonly type: "refused"; readonly code: RefusalCode }
  /** The handler ran, and there is no value. */
  | { readonly type: "failed"; readonly code: FailureCode }
  /** The call was given up, or its execution ended, before there was an answer. */
  | { readonly type: "aborted" };

/** One call in a report. */
export interface CallLine {
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** Milliseconds from the call to its answer. */
  readonly ms: number;
  /** UTF-8 bytes of the result's JSON text; 0 without one. */
  readonly bytes: number;
  readonly outcome: CallOutcome;
  /** Whether the handler was started. If so, the tool may have taken effect, whatever the outcome. */
  readonly started: boolean;
  /** What the call changed at most, where that depends on the input of its tool and the handler was started. */
  readonly effect?: Effect;
  /** What the handler has said to people. No model and no program gets it. */
  readonly display?: unknown;
  /** How often the handler was run, where it was run again after a failure. */
  readonly attempts?: number;
}

/** Short text of an outcome: the shape of the value, the code, or `aborted`. */
export function outcomeText(outcome: CallOutcome): string {
  switch (outcome.type) {
    case "value":
      return outcome.shape;
    case "refused":
    case "failed":
      return outcome.code;
    case "aborted":
      return outcome.type;
  }
}
