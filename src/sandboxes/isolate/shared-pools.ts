import { byName, packageVersion } from "../../base/index.ts";
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
export function leasePool(options: PoolOptions) {
  const shared = registry();
  const name = JSON.stringify(Object.entries(options).toSorted(byName));
  // How engines are started is an object that a test passes, and it may hold state.
  const entry = options.command ? undefined : shared.get(name);
  const leased = entry ?? { pool: new EnginePool(options), users: 0 };
  leased.users += 1;
  if (!entry && !options.command) shared.set(name, leased);
  let released = false;
  return {
    pool: leased.pool,

    /** Gives the pool back. Its engines end with its last user; resolves when they have. */
    async release(): Promise<void> {
      if (released) return;
      released = true;
      leased.users -= 1;
      if (leased.users > 0) return;
      if (shared.get(name) === leased) shared.delete(name);
      await leased.pool.close();
    },
  };
}

let key: symbol | undefined;

/** One registry for each version of the package: another version's pools have other methods, and other engines. */
function registry(): SharedPools {
  key ??= Symbol.for(`portcullis/engine-pools@${packageVersion()}`);
  const holder = globalThis as { [key: symbol]: SharedPools | undefined };
  return (holder[key] ??= new Map());
}
