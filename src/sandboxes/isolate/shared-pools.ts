import { packageVersion } from "../package-files.ts";
import { EnginePool } from "./engine-pool.ts";
import type { PoolOptions } from "./pool-options.ts";

interface SharedPool {
  readonly pool: EnginePool;
  users: number;
}

type SharedPools = Map<string, SharedPool>;

/**
 * A pool of engines for one sandbox. Sandboxes of one thread whose options are equal share a pool, also where this module
 * was loaded several times, as servers that bundle and test runners that watch do. A pool is made by what was loaded from
 * the same file only: two copies of one version may differ.
 */
export class PoolLease {
  readonly pool: EnginePool;
  readonly #key: string;
  readonly #shared: SharedPool;
  #released = false;

  constructor(options: PoolOptions) {
    // How engines are started is an object that a test passes, and it may hold state.
    this.#key = JSON.stringify([import.meta.url, Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
    const known = options.command ? undefined : registry().get(this.#key);
    this.#shared = known ?? { pool: new EnginePool(options), users: 0 };
    this.#shared.users += 1;
    this.pool = this.#shared.pool;
    if (!known && !options.command) registry().set(this.#key, this.#shared);
  }

  /** Gives the pool back. Its engines end with its last user; resolves when they have. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#shared.users -= 1;
    if (this.#shared.users > 0) return;
    if (registry().get(this.#key) === this.#shared) registry().delete(this.#key);
    await this.pool.close();
  }
}

let registryKey: symbol | undefined;

/** One registry for each version of the package: another version's pools have other methods, and other engines. */
function registry(): SharedPools {
  registryKey ??= Symbol.for(`portcullis/engine-pools@${packageVersion()}`);
  const holder = globalThis as { [key: symbol]: SharedPools | undefined };
  if (!holder[registryKey])
    Object.defineProperty(globalThis, registryKey, { value: new Map() satisfies SharedPools, configurable: true });
  return holder[registryKey]!;
}
