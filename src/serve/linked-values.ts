/*
 * Values that are too large for the result of an MCP call. A door keeps a value here and puts its link into the result;
 * the client that the value belongs to reads it by the link.
 */
import { randomUUID } from "node:crypto";
import { now } from "../base/index.ts";
import { ownerOf, type Principal } from "./principal.ts";

export interface LinkedValue {
  readonly uri: string;
  /** What it is, for people. */
  readonly name: string;
  readonly bytes: number;
}

interface Entry extends LinkedValue {
  readonly tenant: string;
  readonly principal: string;
  readonly text: Buffer;
  readonly until: number;
}

const MIB = 1024 * 1024;
/**
 * Bytes of all values, and of the values of one principal. Its oldest values make room for its new ones, and in all those
 * of the tenant that keeps most: nobody's values go for another who keeps more.
 */
const ALL_BYTES = 128 * MIB;
const OWN_BYTES = 32 * MIB;
/** Values of one principal. */
const OWN_VALUES = 1000;
/** How long a value can be read, in milliseconds. */
const KEPT_MS = 60 * 60 * 1000;

export type LinkedValues = ReturnType<typeof linkedValues>;

/**
 * Values that were too large for a result. Only the principal whose call made a value can read it, for an hour at most.
 */
export function linkedValues() {
  const entries = new Map<string, Entry>();
  const all = () => {
    const at = now();
    for (const { uri, until } of entries.values()) if (until <= at) entries.delete(uri);
    return [...entries.values()];
  };
  const dropFirst = (own: Entry[]) => entries.delete(own.shift()?.uri ?? "");
  const entryOf = (principal: string, uri: string) => {
    const entry = entries.get(uri);
    return entry?.principal === principal ? entry : undefined;
  };
  return {
    /** Keeps a value; undefined if it is larger than all that one principal may keep. */
    keep(owner: Pick<Principal, "id" | "tenant">, name: string, text: string): LinkedValue | undefined {
      const { tenant } = owner;
      const principal = ownerOf(owner);
      const bytes = Buffer.byteLength(text);
      if (bytes > OWN_BYTES) return undefined;
      const uri = `portcullis://values/${randomUUID()}`;
      const own = all().filter((entry) => entry.principal === principal);
      while (bytesIn(own) > OWN_BYTES - bytes || own.length >= OWN_VALUES) dropFirst(own);
      const tenants = [...Map.groupBy(all(), (entry) => entry.tenant).values()];
      while (bytesIn(tenants.flat()) > ALL_BYTES - bytes)
        dropFirst(tenants.reduce((most, one) => (bytesIn(one) > bytesIn(most) ? one : most)));
      entries.set(uri, { uri, name, bytes, tenant, principal, text: Buffer.from(text), until: now() + KEPT_MS });
      return { uri, name, bytes };
    },
    /** The text of a value; undefined for a value of another principal, and for a value that is no longer kept. */
    read(principal: string, uri: string): string | undefined {
      all();
      return entryOf(principal, uri)?.text.toString("utf8");
    },
    /** Bytes of a value; 0 if `read` gives none. */
    bytesOf: (principal: string, uri: string) => entryOf(principal, uri)?.bytes ?? 0,
    /** The values of a principal, the latest first. */
    of: (principal: string): readonly LinkedValue[] =>
      all()
        .filter((entry) => entry.principal === principal)
        .toReversed(),
  };
}

function bytesIn(entries: readonly Entry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}
