import { hash } from "node:crypto";
import type { Tool } from "../../tools/tool.ts";

/** Addresses that count of one result, and bytes that one may have. */
export const NAMED = { ofResult: 500, bytes: 2048 } as const;
const MOST = 10_000;
/** Characters that are kept of a digest: 132 bits. */
const DIGEST_LENGTH = 22;

/** What stands for an address in records: the journal then holds an address no more often than its results do. */
export function nameDigest({ source = "" }: Pick<Tool, "source">, address: string): string {
  return hash("sha256", `${source}\n${address}`, "base64url").slice(0, DIGEST_LENGTH);
}

/** The addresses that count of those that a handler gives. */
export function keptNames(names: unknown): readonly string[] {
  if (!Array.isArray(names)) return [];
  const kept = new Set<string>();
  for (const name of names as unknown[]) {
    if (kept.size === NAMED.ofResult) break;
    if (isAddress(name)) kept.add(name);
  }
  return [...kept];
}

function isAddress(name: unknown): name is string {
  return (
    typeof name === "string" && name !== "" && name.length <= NAMED.bytes && Buffer.byteLength(name) <= NAMED.bytes
  );
}

/** Adds to what the results of a session have named, by digests. A journal from elsewhere may tell of any number. */
export function addNamed(digests: Set<string>, named: readonly string[] = []): void {
  for (const digest of named) if (digests.size < MOST) digests.add(digest);
}
