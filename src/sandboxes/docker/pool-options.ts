export type { PoolOptions } from "./docker-options.ts";

/** For tests and benchmarks. */
export interface PoolCounts {
  /** Those that are being started included. */
  readonly containers: number;
  readonly idle: number;
  readonly waiting: number;
}
