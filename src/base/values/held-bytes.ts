import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import { Counts } from "../places/counts.ts";
import { Lane } from "./slice-scheduler.ts";

/** A budget of bytes that a request would exceed. */
export interface HeldOverdraft {
  /** `totalBytes` bounds one execution, `heldBytes` all executions of a runtime. */
  readonly limit: "totalBytes" | "heldBytes";
  /** What this execution may hold. */
  readonly allowed: number;
  readonly seen: number;
}

/** A quarter of the memory available to this process: the smallest of heap limit, machine memory and control group limit. */
export function defaultHeldBytes(): number {
  const constrained = process.constrainedMemory();
  const memory = Math.min(totalmem(), constrained > 0 ? constrained : Infinity);
  return Math.floor(Math.min(memory, getHeapStatistics().heap_size_limit) / 4);
}

/** Bytes that a UTF-16 unit of a text takes in memory at most. */
export const UNIT_BYTES = 2;

/** Bytes of a text in memory: as many as its characters if it is ASCII, else two for each UTF-16 unit. */
export function memoryOf(text: string, utf8Bytes = Buffer.byteLength(text)): number {
  return utf8Bytes === text.length ? utf8Bytes : text.length * UNIT_BYTES;
}

/** Bytes that an execution may hold however small its limits: a parsed input takes more memory than its text. */
const MIN_BYTES = 8 * 1024 * 1024;

/** The part of the smallest runtime's memory that may be held in common. */
const IN_COMMON = 1 / 16;

/** The memory that all executions of a runtime hold together, with what the process holds in common, and its bound. */
export interface HeldBytes {
  readonly allowed: number;
  readonly held: number;
  /** Bytes that are free; below 0 if more is held than allowed. */
  readonly free: number;
  /** Adds bytes without checking the bound; negative numbers give bytes back. */
  count(bytes: number): void;
  share(tenant: string, allowedBytes: number): Share;
  /** A share of what all such shares of the tenant may hold together: as much as they leave to others. */
  shareOfTenant(tenant: string): Share;
}

export function heldWithin(allowed = defaultHeldBytes()): HeldBytes {
  const inCommon = allowed * IN_COMMON;
  /** Of the shares that a tenant's work has together. */
  const together = new Counts();
  let own = 0;
  heldInCommon.allowed = Math.min(heldInCommon.allowed, inCommon);
  const runtime: HeldBytes = {
    allowed,
    // What is in common beyond the part of this runtime goes with the next schema that is compiled.
    get held() {
      return own + Math.min(heldInCommon.bytes, inCommon);
    },
    get free() {
      return allowed - runtime.held;
    },
    count: (bytes) => void (own += bytes),
    share: (tenant, allowedBytes) => shareOf(runtime, tenant, allowedBytes),
    shareOfTenant: (tenant) => shareOf(runtime, tenant, Infinity, together),
  };
  return runtime;
}

/**
 * One execution's share of the host: its lane on the thread, and the bytes it holds. An execution may hold at most as
 * many bytes as remain free. So a single execution gets half of the budget, several get equal parts, and some of the
 * budget is always free for the next execution.
 */
export type Share = ReturnType<typeof shareOf>;

function shareOf(runtime: HeldBytes, tenant: string, allowedBytes: number, together?: Counts) {
  /** Most bytes that this execution may hold. */
  const allowed = Math.max(allowedBytes, MIN_BYTES);
  let held = 0;
  let ended = false;

  /** Adds bytes that are already held, without checking the bound. */
  const count = (bytes: number): void => {
    if (ended) return;
    held += bytes;
    together?.add(tenant, bytes);
    runtime.count(bytes);
  };
  const giveBack = (bytes: number): void => count(-bytes);

  return {
    lane: new Lane(tenant),
    allowed,
    count,
    giveBack,

    get held(): number {
      return held;
    },

    /** Whether more than half of what all executions may hold is free. */
    get isRoomy(): boolean {
      return runtime.free > runtime.allowed / 2;
    },

    /** Holds bytes until they are given back or the execution ends. Returns the exceeded limit if there is no room. */
    hold(bytes: number): HeldOverdraft | undefined {
      const seen = (together?.of(tenant) ?? held) + bytes;
      const { free } = runtime;
      if (seen > allowed) return { limit: "totalBytes", allowed, seen };
      if (seen > free) return { limit: "heldBytes", allowed: Math.max(0, free), seen };
      count(bytes);
      return undefined;
    },

    /** Gives everything back. Later bytes are not counted. */
    end(): void {
      giveBack(held);
      ended = true;
    },
  };
}

/** What all runtimes of the process hold in common, and may: compiled schemas. Each runtime counts it as its own. */
export const heldInCommon = { bytes: 0, allowed: 32 * 1024 * 1024 };
