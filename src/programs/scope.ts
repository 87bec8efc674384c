import type { Language } from "../../bridge/frames.ts";
import type { WorkScope } from "../gate/open-call.ts";
import type { Gate } from "../gate/gate.ts";
import type { ParentCall } from "../gate/session.ts";
import type { Journal } from "../journal/journal.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { ExecutionEvent } from "./execute.ts";
import type { Limits } from "./limits.ts";

/**
 * Everything that an execution or a conversation depends on: where its programs run, what they may reach, what bounds and
 * what cancels them. A runtime makes one for each, and an agent that is a tool narrows the scope of its caller.
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
  readonly above?: ParentCall | undefined;
}
