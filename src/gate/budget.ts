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
  readonly limit: "calls" | "inputBytes" | "totalBytes";
  readonly allowed: number;
  readonly seen: number;
}

/** What an execution has used of what it may. */
export class Budget {
  readonly #limits: GateLimits;
  #calls = 0;
  #inputBytes = 0;
  #resultBytes = 0;

  constructor(limits: GateLimits) {
    this.#limits = limits;
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
  }

  /** Takes what a call's input needs, or says which limit is in the way. */
  takeInput(bytes: number): Overdraft | undefined {
    const { calls, inputBytes } = this.#limits;
    if (this.#calls > calls) return { limit: "calls", allowed: calls, seen: this.#calls };
    if (bytes > inputBytes) return { limit: "inputBytes", allowed: inputBytes, seen: bytes };
    const overdraft = this.#overTotal(bytes);
    if (!overdraft) this.#inputBytes += bytes;
    return overdraft;
  }

  /** Takes what a result needs, or says that the total is in the way. */
  takeResult(bytes: number): Overdraft | undefined {
    const overdraft = this.#overTotal(bytes);
    if (!overdraft) this.#resultBytes += bytes;
    return overdraft;
  }

  #overTotal(bytes: number): Overdraft | undefined {
    const seen = this.#inputBytes + this.#resultBytes + bytes;
    return seen > this.#limits.totalBytes ? { limit: "totalBytes", allowed: this.#limits.totalBytes, seen } : undefined;
  }
}
