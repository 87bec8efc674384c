import type { Language } from "../../bridge/frames.ts";
import type { Gate } from "../gate/gate.ts";
import type { ParentCall, WorkScope } from "../gate/work-scope.ts";
import type { ArtifactPlace } from "../gate/artifacts/session-artifacts.ts";
import type { Journal } from "../journal/journal.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Untimed } from "../gate/call-event.ts";
import type { ExecutionEvent } from "./event.ts";
import type { ProgramHeader } from "../journal/record.ts";
import type { Limits } from "./limits.ts";
import type { Tool } from "../tools/tool.ts";

/** Tools of executions whose handlers another process has: their owner. */
export interface OwnedTools {
  /** The tools that a header declares. Their calls go to the owner. `leave` ends the driving if the owner is gone. */
  readonly of: (header: ProgramHeader, leave: (reason: Error) => void) => readonly Tool[];
  /** Rejects with `owner_unavailable` if the owner may not be called from here, or does not take the execution's key. */
  readonly check: (header: ProgramHeader, signal: AbortSignal) => Promise<void>;
}

/**
 * The dependencies of an execution or a conversation: its sandbox, its gate, its journal, its limits and the signal that
 * cancels it. A runtime makes one for each. An agent that is a tool narrows the scope of its caller.
 */
export interface Scope extends WorkScope {
  readonly sandbox: Sandbox;
  readonly gate: Gate;
  readonly journal: Journal;
  /** How long another driver must wait before it may take an execution of this scope over, in milliseconds. */
  readonly leaseMs: number;
  readonly language: Language;
  readonly limits: Limits;
  /** Whether a program is held for a decision before it starts; false by default. */
  readonly approvePrograms?: boolean | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: Untimed<ExecutionEvent>) => void;
  /** Where programs keep values: in a conversation, its artifacts. If it is missing, each program keeps its own. */
  readonly artifacts?: ArtifactPlace | undefined;
  /** Tools whose handlers another process has; undefined where none is called. */
  readonly owned?: (() => Promise<OwnedTools>) | undefined;
  /** Of an execution that is submitted with an owner: what its header has of it. */
  readonly ofOwner?: Pick<ProgramHeader, "owner" | "ownerTools"> | undefined;
  /** The call that started this execution or conversation, if a call did. */
  readonly above?: ParentCall | undefined;
}
