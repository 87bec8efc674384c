import type { Owner } from "../journal/record.ts";
import type { Caller } from "../tools/tool.ts";
import { isMeantBy } from "../tools/tool-name.ts";
import type { Limits } from "./limits.ts";

/** What the client of a server may do. What is not said is not limited. */
export interface Rights {
  /** As which callers it may call tools. */
  readonly callers?: readonly Caller[];
  /** Names of the tools that it may use, like `crm.*`. */
  readonly tools?: readonly string[];
  /** Changes to the limits of its programs. */
  readonly limits?: Partial<Limits>;
}

/** Whether rights name a tool: without names, any. */
export function isNamedBy({ tools }: Rights, name: string): boolean {
  return tools === undefined || tools.some((pattern) => isMeantBy(pattern, name));
}

/** What the owner of an execution may do now. */
export interface OwnerNow extends Rights {
  /** Aborted with `key_revoked` once its key holds no more: all that it has under way ends. */
  readonly signal: AbortSignal;
}

/** Knows the owners of executions. */
export interface Owners {
  /** Throws `execution_driven` for an execution that is not for this process to drive: undefined is one of the host's own code. */
  readonly now: (owner: Owner | undefined, tenant: string) => OwnerNow;
}
