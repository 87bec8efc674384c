import type { Language } from "../../bridge/frames.ts";
import type { Gate } from "../gate/gate.ts";
import type { ParentCall, WorkScope } from "../gate/work-scope.ts";
import type { ArtifactPlace } from "../gate/artifacts/session-artifacts.ts";
import type { Journal } from "../journal/journal.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { EventFields } from "../gate/call-event.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { ExecutionEvent } from "./event.ts";
import type { Limits } from "./limits.ts";
import type { Owner } from "../journal/record.ts";
import type { Caller } from "../tools/tool.ts";
import { isMeantBy } from "../tools/tool-name.ts";

/** What becomes of a program whose calls would be refused: it ends before its first call, or its report says so. */
export type ProgramCheckMode = "refuse" | "warn" | "off";

/**
 * The dependencies of an execution or a conversation: its sandbox, its gate, its journal, its limits and the signal that
 * cancels it. A runtime makes one for each. An agent that is a tool narrows the scope of its caller.
 */
export interface Scope extends WorkScope {
  readonly sandbox: Sandbox;
  readonly gate: Gate;
  /** The tools of the host, if the gate has only those of them that the execution's owner may use now. */
  readonly hostTools?: ToolSet | undefined;
  readonly journal: Journal;
  /** How long another driver must wait before it may take an execution of this scope over, in milliseconds. */
  readonly leaseMs: number;
  readonly language: Language;
  readonly limits: Limits;
  /** Whether a program is held for a decision before it starts; false by default. */
  readonly approvePrograms?: boolean | undefined;
  /** Whether a program is checked against its tools' declarations before its first call; not if it is missing. */
  readonly checkPrograms?: ProgramCheckMode | undefined;
  readonly signal: AbortSignal;
  /** Tells what owners of executions may do now; undefined in a process that does not have the keys. */
  readonly owners?: Owners | undefined;
  readonly onEvent: (event: EventFields<ExecutionEvent>) => void;
  /** Where programs keep values: in a conversation, its artifacts. If it is missing, each program keeps its own. */
  readonly artifacts?: ArtifactPlace | undefined;
  /** The call that started this execution or conversation, if a call did. */
  readonly above?: ParentCall | undefined;
}

/** What the client of a server may do. What is not said is not limited. */
export interface Rights {
  readonly allowedCallers?: readonly Caller[];
  /** Names of the tools that it may use, like `crm.*`. */
  readonly tools?: readonly string[];
  readonly limits?: Partial<Limits>;
}

/** Whether rights name a tool: without names, any. */
export function isNamedBy({ tools }: Rights, name: string): boolean {
  return tools === undefined || tools.some((pattern) => isMeantBy(pattern, name));
}

export interface OwnerNow extends Rights {
  /** Aborted with `key_revoked` once its key holds no more: all that it has under way ends. */
  readonly signal: AbortSignal;
}

export interface Owners {
  /** Throws `execution_driven` for an execution that is not for this process to drive: undefined is one of the host's own code. */
  readonly now: (owner: Owner | undefined, tenant: string) => OwnerNow;
}
