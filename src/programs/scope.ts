import type { Language } from "../../bridge/frames.ts";
import type { WorkScope } from "../gate/open-call.ts";
import type { Gate } from "../gate/gate.ts";
import type { Above } from "../gate/session.ts";
import type { Journal } from "../journal/journal.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { ExecutionEvent } from "./execute.ts";
import type { Limits } from "./limits.ts";

/**
 * What a piece of work stands on: where its programs run, what they may reach, what bounds and what cancels them. A
 * runtime has one, and each execution, conversation and agent gets it with its own changes. Each room reads the part
 * that it knows.
 */
export interface Scope extends WorkScope {
  readonly sandbox: Sandbox;
  readonly gate: Gate;
  readonly journal: Journal;
  readonly language: Language;
  readonly limits: Limits;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ExecutionEvent) => void;
  /** The call that began the work, where a call did. */
  readonly above?: Above | undefined;
}
