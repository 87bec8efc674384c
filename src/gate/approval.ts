import type { Caller } from "../tools/tool.ts";

/** A call that waits for somebody's decision. */
export interface ApprovalRequest {
  readonly execution: string;
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** The input as it was sent: what is approved is what runs. */
  readonly input: unknown;
  readonly inputDigest: string;
  /** Aborted when the decision is of no use any more. */
  readonly signal: AbortSignal;
}

/** Decides about a call. Only `true` approves; a rejection denies. */
export type Approve = (request: ApprovalRequest) => boolean | Promise<boolean>;
