import type { TokenUsage } from "../../tools/token-usage.ts";

export interface GateLimits {
  readonly calls: number;
  readonly concurrentCalls: number;
  readonly inputBytes: number;
  readonly inputValues: number;
  readonly resultBytes: number;
  readonly resultValues: number;
  readonly totalBytes: number;
  /** Bytes of one value that a program keeps; `inputBytes` if left out. */
  readonly artifactBytes?: number;
  /** Bytes of the images and files of one result, as base64; `resultBytes` if left out. */
  readonly partBytes?: number;
  /** Streams that may be open at once; unbounded if left out. */
  readonly streams?: number;
  /** Bytes of all items of one stream; unbounded if left out. */
  readonly streamBytes?: number;
  /** Names under which values may be kept; unbounded if left out. */
  readonly artifacts?: number;
  /** Time that a held call may wait for an answer, in milliseconds; unbounded if left out. */
  readonly waitMs?: number;
}

export interface Overdraft {
  readonly limit:
    | "calls"
    | "inputBytes"
    | "inputValues"
    | "totalBytes"
    | "heldBytes"
    | "artifactBytes"
    | "artifacts"
    | "streams"
    | "streamBytes";
  readonly allowed: number;
  readonly seen: number;
}

/** What earlier drivers of an execution have used of its limits. Its open calls count among `calls`, and arrive again. */
export interface PastBudget {
  readonly calls: number;
  readonly openCalls: number;
  readonly inputBytes: number;
  readonly resultBytes: number;
}

/**
 * What an execution has used of its limits. An execution that was started by a call of another execution (`above`)
 * counts its calls and tokens against both budgets. Bytes count only here, because they bound the execution's own
 * journal.
 */
export class Budget {
  readonly #limits: GateLimits;
  readonly #above: Budget | undefined;
  readonly #tokensAllowed: number;
  #tokenUsage: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
  calls = 0;
  inputBytes = 0;
  resultBytes = 0;
  #failureBytes = 0;
  /** Memory that texts take beyond their UTF-8 bytes. */
  #wideBytes = 0;

  constructor(limits: GateLimits, above?: Budget, tokensAllowed = Infinity) {
    this.#limits = limits;
    this.#above = above;
    this.#tokensAllowed = tokensAllowed;
  }

  /** Tokens that models may still use: the minimum over this budget and the budgets above it. */
  get tokensLeft(): number {
    return Math.min(this.#tokensAllowed - this.tokens, this.#above?.tokensLeft ?? Infinity);
  }

  get tokens(): number {
    return this.#tokenUsage.inputTokens + this.#tokenUsage.outputTokens;
  }

  get tokenUsage(): TokenUsage {
    return this.#tokenUsage;
  }

  /** Counts the tokens that a model has used, even beyond the limit. */
  takeTokens(used: TokenUsage): void {
    this.#tokenUsage = addTokens(this.#tokenUsage, used);
    this.#above?.takeTokens(used);
  }

  restore({ calls, openCalls, inputBytes, resultBytes }: PastBudget): void {
    this.calls += calls - openCalls;
    this.inputBytes += inputBytes;
    this.resultBytes += resultBytes;
  }

  /** Counts a call on arrival, before its outcome is known. */
  arrive(): void {
    this.calls += 1;
    this.#above?.arrive();
  }

  /** Takes back calls that are left open for another driver, with which they arrive again. */
  giveBackCalls(calls: number): void {
    this.calls -= calls;
    this.#above?.giveBackCalls(calls);
  }

  /** Reserves the bytes of an input, or returns the limit that it would exceed. `heldBytes` is the memory that its text takes. */
  takeInput(bytes: number, heldBytes: number, limit: "inputBytes" | "artifactBytes"): Overdraft | undefined {
    const allowed = this.#limits[limit] ?? this.#limits.inputBytes;
    const spent = this.overCalls();
    if (spent) return spent;
    if (bytes > allowed) return { limit, allowed, seen: bytes };
    const overdraft = this.#takeText(bytes, heldBytes);
    if (!overdraft) this.inputBytes += bytes;
    return overdraft;
  }

  /** Reserves the bytes of a result, or returns the limit that it would exceed. */
  takeResult(bytes: number, heldBytes: number): Overdraft | undefined {
    const overdraft = this.#takeText(bytes, heldBytes);
    if (!overdraft) this.resultBytes += bytes;
    return overdraft;
  }

  /** The limit that a failure of so many bytes would exceed. */
  overFailure(bytes: number): Overdraft | undefined {
    return this.#takeText(bytes, bytes);
  }

  /** Counts a message that the caller gets in place of a result, even beyond the limit. */
  takeFailure(heldBytes: number): void {
    this.#failureBytes += heldBytes;
  }

  /** The limit of calls that the last counted call exceeds, here or above. */
  overCalls(): Overdraft | undefined {
    const { calls: allowed } = this.#limits;
    return this.calls > allowed ? { limit: "calls", allowed, seen: this.calls } : this.#above?.overCalls();
  }

  #takeText(bytes: number, heldBytes: number): Overdraft | undefined {
    const { totalBytes } = this.#limits;
    const wide = Math.max(0, heldBytes - bytes);
    const seen = this.inputBytes + this.resultBytes + this.#failureBytes + this.#wideBytes + bytes + wide;
    if (seen > totalBytes) return { limit: "totalBytes", allowed: totalBytes, seen };
    this.#wideBytes += wide;
    return undefined;
  }
}

export function addTokens(one: TokenUsage, other: TokenUsage): TokenUsage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  };
}
