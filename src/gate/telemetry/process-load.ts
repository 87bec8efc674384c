import { sumOf } from "../../base/index.ts";
/** The engines or containers of a sandbox, and the programs that wait for them. */
interface GuestCounts {
  readonly guests: number;
  readonly idle: number;
  readonly waiting: number;
}

export interface RuntimeLoad {
  readonly running: number;
  readonly waiting: number;
  /** Sandboxes that share their engines have the same `pool`, which is counted once. */
  readonly sandbox?: (GuestCounts & { readonly name: string; readonly pool: object }) | undefined;
}

const sources = new Set<() => RuntimeLoad>();

/** Adds the load of a runtime. Returns the function that takes it away again. */
export function addLoad(source: () => RuntimeLoad): () => void {
  sources.add(source);
  return () => void sources.delete(source);
}

export function sumLoads(of: (load: RuntimeLoad) => number): number {
  return sumOf(sources, (source) => of(source()));
}

export function sumGuests(): readonly (readonly [string, GuestCounts])[] {
  const loads = [...sources].flatMap((source) => source().sandbox ?? []);
  const pools = new Map(loads.map((load) => [load.pool, load]));
  const sum = (all: readonly GuestCounts[], name: keyof GuestCounts) => sumOf(all, (one) => one[name]);
  return [...Map.groupBy(pools.values(), ({ name }) => name)].map(([name, all]) => [
    name,
    { guests: sum(all, "guests"), idle: sum(all, "idle"), waiting: sum(all, "waiting") },
  ]);
}
