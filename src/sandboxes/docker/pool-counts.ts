export type { PoolOptions } from "./docker-options.ts";

/** Counts for tests and benchmarks. */
export interface PoolCounts {
  /** Including containers that are being started. */
  readonly containers: number;
  readonly idle: number;
  readonly waiting: number;
}
