import { hash } from "node:crypto";
import type { Opening } from "../model.ts";

const DIGEST_LENGTH = 8;

/**
 * Maps names of tools, or of fields, to names that every provider accepts (at most 64 letters, digits, `_` and `-`), and back. A name that
 * has to be changed gets a digest of the original, so that no two share one.
 */
export class ToolNames {
  readonly #givenBy = new Map<string, string>();
  readonly #ownBy = new Map<string, string>();

  /** `reserved` are names that no tool may get. `maxLength` counts UTF-16 code units. */
  constructor(names: readonly string[], reserved: readonly string[] = [], maxLength = 64) {
    const taken = new Set(reserved);
    const isPlain = (name: string) => name.length <= maxLength && /^[A-Za-z0-9_-]+$/.test(name);
    const plain = new Set(names.filter((name) => isPlain(name) && !taken.has(name)));
    for (const name of names) {
      const readable = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
      const isTaken = (given: string) => taken.has(given) || plain.has(given) || this.#ownBy.has(given);
      const isFree = readable !== "" && readable.length <= maxLength && !isTaken(readable);
      const given = plain.has(name) || isFree ? readable : withDigest(name, readable, maxLength, isTaken);
      this.#givenBy.set(name, given);
      this.#ownBy.set(given, name);
    }
  }

  given(name: string): string {
    return this.#givenBy.get(name) ?? name;
  }

  /** The tool that was declared under a name. If there is none, the name itself, cut to 256 code units. */
  own(given: string): string {
    return this.#ownBy.get(given) ?? given.slice(0, 256);
  }
}

/** Names of a conversation's tools, beside the tool for programs and `reserved` names of the provider's own tools. */
export function toolNamesOf(
  { tools, deferred = [], runProgram }: Pick<Opening, "tools" | "deferred" | "runProgram">,
  reserved: readonly string[] = [],
): ToolNames {
  return new ToolNames(
    [...tools, ...deferred].map(({ name }) => name),
    [...(runProgram ? [runProgram.name] : []), ...reserved],
  );
}

/** Adds a digest. It is hashed again if another tool has the name already, which an MCP server could arrange. */
function withDigest(name: string, readable: string, maxLength: number, isTaken: (given: string) => boolean): string {
  let digest = hash("sha256", name);
  const given = () => `${readable.slice(0, maxLength - DIGEST_LENGTH - 1)}_${digest.slice(0, DIGEST_LENGTH)}`;
  while (isTaken(given())) digest = hash("sha256", digest);
  return given();
}
