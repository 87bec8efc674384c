/*
 * Values that are too large for the result of an MCP call. A door keeps a value here and puts its link into the result;
 * the client that the value belongs to reads it by the link.
 */
import { randomUUID } from "node:crypto";
import { now } from "../base/index.ts";

export interface LinkedValue {
  readonly uri: string;
  /** What it is, for people. */
  readonly name: string;
  readonly bytes: number;
}

interface Entry extends LinkedValue {
  readonly principal: string;
  readonly text: Buffer;
  readonly until: number;
}

const MIB = 1024 * 1024;
/** Bytes of all values, and of the values of one principal. The oldest values make room for new values. */
const ALL_BYTES = 128 * MIB;
const OWN_BYTES = 32 * MIB;
/** Values of one principal. */
const OWN_VALUES = 1000;
/** How long a value can be read, in milliseconds. */
const KEPT_MS = 60 * 60 * 1000;

/**
 * Values that were too large for a result. Only the principal whose call made a value can read it, for an hour at most.
 */
export class LinkedValues {
  readonly #entries = new Map<string, Entry>();

  /** Keeps a value; undefined if it is larger than all that one principal may keep. */
  keep(principal: string, name: string, text: string): LinkedValue | undefined {
    const bytes = Buffer.byteLength(text);
    if (bytes > OWN_BYTES) return undefined;
    const uri = `portcullis://values/${randomUUID()}`;
    this.#dropOld();
    this.#makeRoom((entry) => entry.principal === principal, OWN_BYTES - bytes, OWN_VALUES - 1);
    this.#makeRoom(() => true, ALL_BYTES - bytes, Number.POSITIVE_INFINITY);
    this.#entries.set(uri, { uri, name, bytes, principal, text: Buffer.from(text), until: now() + KEPT_MS });
    return { uri, name, bytes };
  }

  /** The text of a value; undefined for a value of another principal, and for a value that is no longer kept. */
  read(principal: string, uri: string): string | undefined {
    this.#dropOld();
    const entry = this.#entries.get(uri);
    return entry?.principal === principal ? entry.text.toString("utf8") : undefined;
  }

  /** Bytes of a value; 0 if `read` gives none. */
  bytesOf(principal: string, uri: string): number {
    const entry = this.#entries.get(uri);
    return entry?.principal === principal ? entry.bytes : 0;
  }

  /** The values of a principal, the latest first. */
  of(principal: string): readonly LinkedValue[] {
    this.#dropOld();
    return [...this.#entries.values()].filter((entry) => entry.principal === principal).toReversed();
  }

  #dropOld(): void {
    const at = now();
    for (const { uri, until } of this.#entries.values()) {
      if (until > at) return;
      this.#entries.delete(uri);
    }
  }

  #makeRoom(counts: (entry: Entry) => boolean, allowedBytes: number, allowedValues: number): void {
    const counted = [...this.#entries.values()].filter(counts);
    let bytes = counted.reduce((sum, entry) => sum + entry.bytes, 0);
    let values = counted.length;
    for (const entry of counted) {
      if (bytes <= allowedBytes && values <= allowedValues) return;
      this.#entries.delete(entry.uri);
      bytes -= entry.bytes;
      values -= 1;
    }
  }
}
