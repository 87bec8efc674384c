import { hash } from "node:crypto";
import type { Limits } from "../executions/limits.ts";
import type { Caller } from "../tools/tool.ts";

/** Who comes through a door, as a key or the transport says. What is not said is not limited. */
export interface Principal {
  /** Two principals never see each other's executions, results and values. */
  readonly id: string;
  readonly tenant: string;
  /** What it may do; all by default. Without `decide` its own user is not asked about calls. */
  readonly scopes?: readonly string[];
  /** As which callers it may call tools; all by default. */
  readonly allowedCallers?: readonly Caller[];
  /** Names of the tools that it may use, like `crm.*`; all by default. */
  readonly tools?: readonly string[];
  /** Executions that it may run at once, by all doors together; as many as the server by default. */
  readonly concurrency?: number;
  /** Changes to the limits of its programs. */
  readonly limits?: Partial<Limits>;
}

/** Whether a principal may do what needs this scope. */
export function hasScope({ scopes }: Principal, scope: string): boolean {
  return scopes === undefined || scopes.includes(scope);
}

/**
 * The owner of something that a door holds in memory. The tenant is a part of it: a key may be removed, and its id
 * given to a key of another tenant.
 */
export function ownerOf({ id, tenant }: Principal): string {
  return JSON.stringify([tenant, id]);
}

/** Id of the client on the standard streams, and of the token of a door that was opened without keys. */
export const STDIO_ID = "stdio";
export const TOKEN_ID = "token";
/** Ids that no key of a file may have: such a key would see the executions of these clients. */
export const OWN_IDS: ReadonlySet<string> = new Set([STDIO_ID, TOKEN_ID]);

const TAG_LENGTH = 16;

/**
 * The prefix of the ids of a principal's executions. By it a door that was opened anew knows the owner of an execution.
 */
export function idPrefixOf({ id }: Pick<Principal, "id">): string {
  return `mcp-${hash("sha256", id).slice(0, TAG_LENGTH)}-`;
}
