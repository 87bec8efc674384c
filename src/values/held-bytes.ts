import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import { Lane } from "./slice-scheduler.ts";

/** A budget of bytes that something more would pass. */
export interface HeldOverdraft {
  /** `totalBytes` bounds one execution, `heldBytes` all of a runtime. */
  readonly limit: "totalBytes" | "heldBytes";
  /** What this execution may hold now. */
  readonly allowed: number;
  readonly seen: number;
}

/** A quarter of what this process can have: of the heap, or of the machine's memory, or of its control group's. */
export function defaultHeldBytes(): number {
  const constrained = process.constrainedMemory();
  const memory = Math.min(totalmem(), constrained > 0 ? constrained : Number.POSITIVE_INFINITY);
  return Math.floor(Math.min(memory, getHeapStatistics().heap_size_limit) / 4);
}

/** Bytes that a text takes in memory, two for each UTF-16 unit where it has any that is not ASCII. */
export function memoryOf(text: string, utf8Bytes = Buffer.byteLength(text)): number {
  return utf8Bytes === text.length ? utf8Bytes : text.length * 2;
}

/** What an execution may hold however little its calls may move, in bytes: an input takes more than its text. */
const LEAST_BYTES = 8 * 1024 * 1024;

/** What all executions of a runtime together hold in memory, and may. */
export class HeldBytes {
  readonly allowed: number;
  #held = 0;

  constructor(allowed = defaultHeldBytes()) {
    this.allowed = allowed;
  }

  get held(): number {
    return this.#held;
  }

  /** Bytes that are free; below 0 where more is held than allowed. */
  get free(): number {
    return this.allowed - this.#held;
  }

  /** Counts bytes, whatever was left, or gives them back where they are negative. */
  count(bytes: number): void {
    this.#held += bytes;
  }

  share(tenant: string, allowedBytes: number): Share {
    return new Share(this, tenant, allowedBytes);
  }
}

/**
 * One execution's part in what all share: its lane on the host's thread, and the bytes that it holds. It may hold as
 * much as is left free for others, and no more: so one alone gets half of the budget, many get equal parts, and there
 * is always something left for the next.
 */
export class Share {
  readonly lane: Lane;
  readonly #runtime: HeldBytes;
  readonly #allowed: number;
  #held = 0;
  #ended = false;

  constructor(runtime: HeldBytes, tenant: string, allowedBytes: number) {
    this.lane = new Lane(tenant);
    this.#runtime = runtime;
    this.#allowed = Math.max(allowedBytes, LEAST_BYTES);
  }

  get held(): number {
    return this.#held;
  }

  /** Holds bytes, until they are given back or the execution ends; or says which limit is in the way. */
  hold(bytes: number): HeldOverdraft | undefined {
    const seen = this.#held + bytes;
    const { free } = this.#runtime;
    if (seen > this.#allowed) return { limit: "totalBytes", allowed: this.#allowed, seen };
    if (seen > free) return { limit: "heldBytes", allowed: Math.max(0, free), seen };
    this.count(bytes);
    return undefined;
  }

  /** Counts bytes that are held whatever was left. */
  count(bytes: number): void {
    if (this.#ended) return;
    this.#held += bytes;
    this.#runtime.count(bytes);
  }

  giveBack(bytes: number): void {
    this.count(-bytes);
  }

  /** Gives everything back. What comes after is not counted. */
  end(): void {
    this.giveBack(this.#held);
    this.#ended = true;
  }
}
