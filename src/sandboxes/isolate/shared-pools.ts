import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
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
 * manager has made. The files that pools and engines are made of must be the same to the byte: a copy may be patched.
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

let registryKey: symbol | undefined;

/** One registry for each version of the package: another version's pools have other methods, and other engines. */
function registry(): SharedPools {
  registryKey ??= Symbol.for(`portcullis/engine-pools@${packageVersion()}/${ownDigest()}`);
  const holder = globalThis as { [key: symbol]: SharedPools | undefined };
  if (!holder[registryKey])
    Object.defineProperty(globalThis, registryKey, { value: new Map() satisfies SharedPools, configurable: true });
  return holder[registryKey]!;
}

/** Digest of the files of which this copy makes pools and engines. */
function ownDigest(): string {
  const digest = createHash("sha256");
  try {
    const files = [
      new URL(import.meta.url),
      new URL("./engine.cjs", import.meta.url),
      // Built, the first file has the code of these two.
      new URL("./engine-pool.ts", import.meta.url),
      new URL("./engine-process.ts", import.meta.url),
    ];
    for (const file of files) if (existsSync(file)) digest.update(readFileSync(file));
    return digest.digest("base64url");
  } catch {
    // Bundled into another file: its engines cannot start, and their own error says so.
    return "bundled";
  }
}
