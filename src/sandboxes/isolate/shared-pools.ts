import { packageVersion } from "../../base/index.ts";
import { EnginePool } from "./engine-pool.ts";
import type { PoolOptions } from "./pool-options.ts";

interface SharedPool {
  readonly pool: EnginePool;
  users: number;
}

type SharedPools = Map<string, SharedPool>;

/**
 * A pool of engines for one sandbox. Sandboxes of one thread with equal options share a pool, even if this module was
 * loaded several times: by servers that bundle, by test runners that watch, or from several folders that a package
 * manager has made.
 */
export class PoolLease {
  readonly pool: EnginePool;
  readonly #key: string;
  readonly #shared: SharedPool;
  #released = false;

  constructor(options: PoolOptions) {
    // How engines are started is an object that a test passes, and it may hold state.
    const shared = registry();
    this.#key = JSON.stringify(Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const known = options.command ? undefined : shared.get(this.#key);
    this.#shared = known ?? { pool: new EnginePool(options), users: 0 };
    this.#shared.users += 1;
    this.pool = this.#shared.pool;
    if (!known && !options.command) shared.set(this.#key, this.#shared);
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

let key: symbol | undefined;

/** One registry for each version of the package: another version's pools have other methods, and other engines. */
function registry(): SharedPools {
  key ??= Symbol.for(`portcullis/engine-pools@${packageVersion()}`);
  const holder = globalThis as { [key: symbol]: SharedPools | undefined };
  return (holder[key] ??= new Map());
}
