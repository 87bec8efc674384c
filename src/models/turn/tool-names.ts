import { hash } from "node:crypto";
import type { Opening } from "../model.ts";

const DIGEST_LENGTH = 8;
/** UTF-16 code units of a name. */
const MAX_LENGTH = 64;

/**
 * Maps names of tools, or of fields, to names that every provider accepts (at most 64 letters, digits, `_` and `-`), and back. A name that
 * has to be changed gets a digest of the original, so that no two share one. `reserved` are names that none may get.
 */
export function mappedNames(names: readonly string[], reserved: readonly string[] = []) {
  const aliasBy = new Map<string, string>();
  const ownBy = new Map<string, string>();
  const reservedSet = new Set(reserved);
  const isPlain = (name: string) => name.length <= MAX_LENGTH && /^[A-Za-z0-9_-]+$/.test(name);
  const plain = new Set(names.filter((name) => isPlain(name) && !reservedSet.has(name)));
  for (const name of names) {
    const readable = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
    const isTaken = (candidate: string) => reservedSet.has(candidate) || plain.has(candidate) || ownBy.has(candidate);
    const isFree = readable !== "" && readable.length <= MAX_LENGTH && !isTaken(readable);
    const alias = plain.has(name) || isFree ? readable : withDigest(name, readable, isTaken);
    aliasBy.set(name, alias);
    ownBy.set(alias, name);
  }
  return {
    aliasOf: (name: string) => aliasBy.get(name) ?? name,
    /** The tool that was declared under a name. If there is none, the name itself, cut to 256 code units. */
    own: (alias: string) => ownBy.get(alias) ?? alias.slice(0, 256),
  };
}

export type ToolNames = ReturnType<typeof mappedNames>;

/** Names of a conversation's tools, beside the tool for programs and `reserved` names of the provider's own tools. */
export function toolNamesOf(
  { tools, deferred = [], runProgram }: Pick<Opening, "tools" | "deferred" | "runProgram">,
  reserved: readonly string[] = [],
): ToolNames {
  return mappedNames(
    [...tools, ...deferred].map(({ name }) => name),
    [...(runProgram ? [runProgram.name] : []), ...reserved],
  );
}

/** Adds a digest. It is hashed again if another tool has the name already, which an MCP server could arrange. */
function withDigest(name: string, readable: string, isTaken: (alias: string) => boolean): string {
  let digest = hash("sha256", name);
  const makeAlias = () => `${readable.slice(0, MAX_LENGTH - DIGEST_LENGTH - 1)}_${digest.slice(0, DIGEST_LENGTH)}`;
  while (isTaken(makeAlias())) digest = hash("sha256", digest);
  return makeAlias();
}
