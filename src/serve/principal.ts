import { hash } from "node:crypto";
import type { Limits } from "../programs/limits.ts";
import type { Caller } from "../tools/tool.ts";

/** Who comes through a door, as a key or the transport says. What is not said is not limited. */
export interface Principal {
  /** Two principals never see each other's executions, results and values. */
  readonly id: string;
  readonly tenant: string;
  /** What it may do; all by default. Without `decide` its own user is not asked about calls. */
  readonly scopes?: readonly string[];
  /** As which callers it may call tools; all by default. */
  readonly callers?: readonly Caller[];
  /** Names of the tools that it may use, like `crm.*`; all by default. */
  readonly tools?: readonly string[];
  /** Executions that it may run at once, by all doors together; as many as the server by default. */
  readonly atOnce?: number;
  /** Changes to the limits of its programs. */
  readonly limits?: Partial<Limits>;
}

/** Whose something is that a door holds in memory. A key may be removed, and its name given to one of another tenant. */
export function ownerOf({ id, tenant }: Principal): string {
  return JSON.stringify([tenant, id]);
}

/** Who comes by the standard streams, and by the only key of a door that was opened without keys. */
export const STDIO_ID = "stdio";
export const TOKEN_ID = "token";
/** What no key of a file may be named: a door would give it the executions of another one. */
export const OWN_IDS: ReadonlySet<string> = new Set([STDIO_ID, TOKEN_ID]);

/** Characters of the digest in the ids of executions. */
const TAG_LENGTH = 16;

/** How the ids of a principal's executions begin. After the door has been opened again, they still tell whose an execution is. */
export function idPrefixOf({ id }: Pick<Principal, "id">): string {
  return `mcp-${hash("sha256", id).slice(0, TAG_LENGTH)}-`;
}
