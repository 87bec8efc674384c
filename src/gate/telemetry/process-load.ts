/** The engines or containers of a sandbox, and the programs that wait for them. */
interface GuestCounts {
  readonly guests: number;
  readonly idle: number;
  /** Programs that wait for an engine or a container. */
  readonly waiting: number;
}

export interface RuntimeLoad {
  readonly running: number;
  readonly waiting: number;
  /** Sandboxes that share their engines have the same `pool`, which is counted once. */
  readonly sandbox?: (GuestCounts & { readonly name: string; readonly pool: object }) | undefined;
}

interface Loads extends Omit<RuntimeLoad, "sandbox"> {
  /** By the name of the sandbox. */
  readonly sandboxes: ReadonlyMap<string, GuestCounts>;
}

/** The runtimes of this process that are open. */
const sources = new Set<() => RuntimeLoad>();

/** Adds the load of a runtime. Returns the function that takes it away again. */
export function addLoad(source: () => RuntimeLoad): () => void {
  sources.add(source);
  return () => void sources.delete(source);
}

export function sumLoads(): Loads {
  const pools = new Set<object>();
  const sandboxes = new Map<string, GuestCounts>();
  let running = 0;
  let waiting = 0;
  for (const source of sources) {
    const load = source();
    running += load.running;
    waiting += load.waiting;
    const { sandbox } = load;
    if (!sandbox || pools.has(sandbox.pool)) continue;
    pools.add(sandbox.pool);
    sandboxes.set(sandbox.name, sumOf(sandbox, sandboxes.get(sandbox.name)));
  }
  return { running, waiting, sandboxes };
}

function sumOf(one: GuestCounts, other: GuestCounts = { guests: 0, idle: 0, waiting: 0 }): GuestCounts {
  return {
    guests: one.guests + other.guests,
    idle: one.idle + other.idle,
    waiting: one.waiting + other.waiting,
  };
}
