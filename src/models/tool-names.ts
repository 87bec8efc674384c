import { hash } from "node:crypto";

/** Characters of a digest that tell shortened names apart. */
const DIGEST_LENGTH = 8;

/**
 * Names as every provider takes them, 64 letters, digits, `_` and `-` at most, and back. A name that had to be changed
 * keeps a digest of what it was, so that two never meet, whatever else is declared.
 */
export class ToolNames {
  readonly #givenBy = new Map<string, string>();
  readonly #ownBy = new Map<string, string>();

  /** `taken` are names that the provider's own tools have, or ours that are no tools. */
  constructor(names: readonly string[], taken: readonly string[] = [], longest = 64) {
    const plain = new Set(names.filter((name) => isPlain(name, longest) && !taken.includes(name)));
    for (const name of names) {
      const readable = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
      const isTaken = (given: string) => taken.includes(given) || plain.has(given) || this.#ownBy.has(given);
      const isFree = readable.length <= longest && !isTaken(readable);
      const given = plain.has(name) || isFree ? readable : withDigest(name, readable, longest, isTaken);
      this.#givenBy.set(name, given);
      this.#ownBy.set(given, name);
    }
  }

  /** The name that a tool is declared by. */
  given(name: string): string {
    return this.#givenBy.get(name) ?? name;
  }

  /** The tool that a provider's word means; the word itself where it means none. */
  own(given: string): string {
    return this.#ownBy.get(given) ?? given.slice(0, 256);
  }
}

function isPlain(name: string, longest: number): boolean {
  return name.length <= longest && /^[A-Za-z0-9_-]+$/.test(name);
}

/** The digest is taken again where somebody is called by the first, as a server of tools may arrange. */
function withDigest(name: string, readable: string, longest: number, isTaken: (given: string) => boolean): string {
  let digest = hash("sha256", name);
  const given = () => `${readable.slice(0, longest - DIGEST_LENGTH - 1)}_${digest.slice(0, DIGEST_LENGTH)}`;
  while (isTaken(given())) digest = hash("sha256", digest);
  return given();
}
