export interface PoolOptions {
  /**
   * Containers kept started for the next program, of each of the two kinds (language and limits) that were asked for
   * last. One that waits takes about 35 MiB of the daemon's machine: 13 to 15 in the container, the rest for what watches over it.
   */
  readonly warm: number;
  /** Containers at once, idle ones included. Programs beyond that wait. */
  readonly containers: number;
  /** Programs that may wait at once; one more ends as `stopped`, by `queue`. */
  readonly queue: number;
}

/** For tests and benchmarks. */
export interface PoolCounts {
  /** Those that are being started included. */
  readonly containers: number;
  readonly idle: number;
  readonly waiting: number;
}
