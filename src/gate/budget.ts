/** Limits that the gate holds, of one execution or conversation. */
export interface GateLimits {
  readonly calls: number;
  readonly callsAtOnce: number;
  readonly inputBytes: number;
  readonly resultBytes: number;
  readonly totalBytes: number;
}

/** A limit that one more call would pass. */
export interface Overdraft {
  readonly limit: "calls" | "inputBytes" | "totalBytes" | "heldBytes";
  readonly allowed: number;
  readonly seen: number;
}

/** Tokens, as providers count them. */
export interface TokenUsage {
  /** All that was read, from a cache or not. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
}

/**
 * What an execution has used of what it may. One that was begun by a call of another counts its calls and its tokens
 * against that one's budget too; its bytes are its own, for they are bounded for the sake of its own journal.
 */
export class Budget {
  readonly #limits: GateLimits;
  readonly #above: Budget | undefined;
  readonly #tokensAllowed: number;
  #tokenUsage: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
  #calls = 0;
  #inputBytes = 0;
  #resultBytes = 0;
  #failureBytes = 0;
  /** What texts take in memory beside their UTF-8 bytes. */
  #wideBytes = 0;

  constructor(limits: GateLimits, above?: Budget, tokensAllowed = Number.POSITIVE_INFINITY) {
    this.#limits = limits;
    this.#above = above;
    this.#tokensAllowed = tokensAllowed;
  }

  /** Tokens that models may still use, here and in everything that this stands under. */
  get tokensLeft(): number {
    return Math.min(this.#tokensAllowed - this.tokens, this.#above?.tokensLeft ?? Number.POSITIVE_INFINITY);
  }

  get tokens(): number {
    return this.#tokenUsage.inputTokens + this.#tokenUsage.outputTokens;
  }

  get tokenUsage(): TokenUsage {
    return this.#tokenUsage;
  }

  /** Counts what a model has used, whatever was left. */
  takeTokens(used: TokenUsage): void {
    const { inputTokens, outputTokens, cachedInputTokens } = this.#tokenUsage;
    this.#tokenUsage = {
      inputTokens: inputTokens + used.inputTokens,
      outputTokens: outputTokens + used.outputTokens,
      cachedInputTokens: cachedInputTokens + used.cachedInputTokens,
    };
    this.#above?.takeTokens(used);
  }

  get calls(): number {
    return this.#calls;
  }

  get resultBytes(): number {
    return this.#resultBytes;
  }

  /** Counts a call that has arrived, whatever will become of it. */
  arrive(): void {
    this.#calls += 1;
    this.#above?.arrive();
  }

  /** Takes what a call's input needs, or says which limit is in the way. `heldBytes` is what its text takes in memory. */
  takeInput(bytes: number, heldBytes = bytes): Overdraft | undefined {
    const { inputBytes } = this.#limits;
    const spent = this.overCalls();
    if (spent) return spent;
    if (bytes > inputBytes) return { limit: "inputBytes", allowed: inputBytes, seen: bytes };
    const wide = Math.max(0, heldBytes - bytes);
    const overdraft = this.#overTotal(bytes + wide);
    if (overdraft) return overdraft;
    this.#inputBytes += bytes;
    this.#wideBytes += wide;
    return undefined;
  }

  /** Takes what a result needs, or says that the total is in the way. */
  takeResult(bytes: number, heldBytes = bytes): Overdraft | undefined {
    const wide = Math.max(0, heldBytes - bytes);
    const overdraft = this.#overTotal(bytes + wide);
    if (overdraft) return overdraft;
    this.#resultBytes += bytes;
    this.#wideBytes += wide;
    return undefined;
  }

  /** Counts what a caller is told in place of a result, whatever was left. */
  takeFailure(heldBytes: number): void {
    this.#failureBytes += heldBytes;
  }

  /** The limit that is in the way of the call that was counted last, here or above. */
  overCalls(): Overdraft | undefined {
    const { calls } = this.#limits;
    if (this.#calls > calls) return { limit: "calls", allowed: calls, seen: this.#calls };
    return this.#above === undefined ? undefined : this.#above.overCalls();
  }

  #overTotal(bytes: number): Overdraft | undefined {
    const seen = this.#inputBytes + this.#resultBytes + this.#failureBytes + this.#wideBytes + bytes;
    return seen > this.#limits.totalBytes ? { limit: "totalBytes", allowed: this.#limits.totalBytes, seen } : undefined;
  }
}
