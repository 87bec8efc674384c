import type { Owner } from "../journal/record.ts";
import type { Redactor } from "../journal/redaction/redactor.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { TenantResults } from "../tools/observed/tenant-results.ts";
import type { AllowedQuestion } from "../tools/tool.ts";
import type { ResultLimits } from "../base/index.ts";
import type { Approve } from "./approve/approval.ts";
import type { Policy, PolicyName } from "./approve/policy.ts";
import type { Budget } from "./admit/budget.ts";
import type { CallLine } from "./call-line.ts";
import type { OpenCall } from "./open-call.ts";
import type { UsedBelow } from "./reuse/earlier-calls.ts";

/** Who a session's calls are made for, in the host's terms. A program knows nothing of it. */
export interface WorkScope {
  readonly tenant: string;
  /** The client of a server; undefined for the host's own work. */
  readonly owner?: Owner | undefined;
  /** The host's own value, for handlers and approvers. The gate does not read it. */
  readonly context?: unknown;
  /** Decides about calls that need approval. Without it they are denied. */
  readonly approve?: Approve | undefined;
  /** Asked about every call, besides the tool's own rules: what one policy refuses or asks for, no other allows. */
  readonly policies?: readonly (Policy | PolicyName)[] | undefined;
  /** Takes out of texts what must not leave; undefined if all may. */
  readonly redactor?: Redactor | undefined;
  /** Learns from results what they are like, and shows tools with it; undefined if nothing is learned. */
  readonly observed?: TenantResults | undefined;
  readonly telemetry?: Telemetry | undefined;
}

/** Work that a call has started, with calls of its own. */
export interface WorkBelow {
  /** Whether it waits for approvals and for nothing else. */
  readonly waitsForApproval: boolean;
}

/** A call's session, for a tool that is itself an agent. */
export interface ParentSession {
  readonly budget: Budget;
  /** The execution, apart from others that had its id before they were deleted. */
  readonly run: string;
  readonly scope: WorkScope;
  readonly limits: ResultLimits;
  readonly note: (line: CallLine) => void;
  /** Whether a result that it knows has named an address, by its digest (`named.ts`). */
  readonly isNamed: (digest: string) => boolean;
  /** Asks the approver a question of an open call's handler. */
  readonly ask: (call: OpenCall, question: unknown) => Promise<AllowedQuestion | false>;
  /** Registers work that one of the session's calls has started. Returns the function that ends it. */
  readonly beginBelow: (callId: string, work: WorkBelow) => () => void;
}

export interface ParentCall extends UsedBelow {
  readonly session: ParentSession;
  readonly execution: string;
  /** Whether the execution may end its driving to wait while what the call has started waits; false by default. */
  readonly canWait?: boolean;
}
