export interface Rate {
  readonly calls: number;
  readonly perMs: number;
}

/** Bounds that hold over processes together, by key. What waits while their store cannot be reached goes on with it. */
export interface SharedLimits {
  /** Runs a function while it has one of `most` places. Rejects with the signal's reason if it is aborted first. */
  run<Value>(key: string, most: number, run: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
  /** Resolves when one more may start. Rejects with the signal's reason if it is aborted first. */
  start(key: string, rate: Rate, signal: AbortSignal): Promise<void>;
}
