/** What was measured of one database, and what its operator allows. */
export interface Costs {
  /** Appends that one database takes in a second, each with a commit of its own, as of many workers. */
  readonly appendsPerSecond: number;
  /** Bytes of the database for each execution that waits, indexes included. */
  readonly bytesWaiting: number;
  /** Connections that one database allows. */
  readonly connections: number;
}

/** What a fleet is to do, and how it is set up. */
export interface Demand {
  readonly workers: number;
  readonly concurrency: number;
  /** Connections that each worker holds, that for notices included. */
  readonly connectionsPerWorker: number;
  readonly leaseMs: number;
  readonly reconcileMs: number;
  readonly waiting: number;
  /** How long an execution waits for its decision, on average. */
  readonly meanWaitMs: number;
  /** Calls that it makes until it waits or ends again, and how long each takes, on average. */
  readonly meanCalls: number;
  readonly meanCallMs: number;
}

/** What is needed in the busiest second, and how many databases that takes. */
export interface Plan {
  readonly decisionsPerSecond: number;
  readonly drivenAtOnce: number;
  readonly appendsPerSecond: number;
  /** Statements that no execution needs: looks at the queue, turns of the reconciler, tellings of workers, renewals. */
  readonly upkeepPerSecond: number;
  readonly noticesPerSecond: number;
  readonly connections: number;
  readonly bytes: number;
  readonly partitions: number;
  readonly breaksFirst: "connections" | "upkeep" | "appends" | "places";
}

const SECONDS = 3600;
/** A worker with room looks at the queue, and tells of itself, this often, in milliseconds (`src/fleet`). */
const [LOOK_MS, TELL_MS] = [1000, 5000];
/** Appends of a continuation beside those of its calls: decision, claim, the last turn. */
const OTHER_APPENDS = 3;
/** Decisions come in bursts: one begins in so many seconds, lasts for so many, and has so many times the decisions. */
const [BURST_EVERY, BURST_SECONDS, BURST_FACTOR] = [600, 20, 4];

/** Simulates an hour of a fleet, second by second. The same seed gives the same hour. */
export function planFleet(costs: Costs, demand: Demand, seed: number): Plan {
  const random = randomOf(seed);
  const places = demand.workers * demand.concurrency;
  const rate = (demand.waiting / demand.meanWaitMs) * 1000;
  const ending = new Float64Array(SECONDS + 1);
  const busiest = { decisionsPerSecond: 0, drivenAtOnce: 0, appendsPerSecond: 0, upkeepPerSecond: 0 };
  let [queued, driven, burstUntil] = [0, 0, -1];
  let isFull = false;
  for (let second = 0; second < SECONDS; second += 1) {
    driven -= ending[second] ?? 0;
    if (random() < 1 / BURST_EVERY) burstUntil = second + BURST_SECONDS;
    const decisions = poisson(rate * (second < burstUntil ? BURST_FACTOR : 1), random);
    queued += decisions;
    let appends = decisions;
    while (queued > 0 && driven < places) {
      const calls = 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / demand.meanCalls));
      const tookMs = -Math.log(1 - random()) * demand.meanCallMs * calls;
      const end = Math.min(SECONDS, second + 1 + Math.floor(tookMs / 1000));
      ending[end] = (ending[end] ?? 0) + 1;
      appends += calls + OTHER_APPENDS - 1;
      queued -= 1;
      driven += 1;
    }
    isFull ||= queued > 0;
    const perWorker = 1 / (LOOK_MS / 1000) + 1 / (demand.reconcileMs / 1000) + 1 / (TELL_MS / 1000);
    const upkeep = demand.workers * perWorker + driven / (demand.leaseMs / 3000);
    raise(busiest, {
      decisionsPerSecond: decisions,
      drivenAtOnce: driven,
      appendsPerSecond: appends,
      upkeepPerSecond: upkeep,
    });
  }
  const connections = demand.workers * demand.connectionsPerWorker;
  const shares = {
    connections: connections / costs.connections,
    upkeep: busiest.upkeepPerSecond / costs.appendsPerSecond,
    appends: busiest.appendsPerSecond / costs.appendsPerSecond,
  };
  const [largest = "connections"] = (Object.keys(shares) as (keyof typeof shares)[]).toSorted(
    (a, b) => shares[b] - shares[a],
  );
  return {
    ...busiest,
    noticesPerSecond: busiest.appendsPerSecond * demand.workers,
    connections,
    bytes: demand.waiting * costs.bytesWaiting,
    // Upkeep and appends are statements of the same database.
    partitions: Math.ceil(Math.max(shares.connections, shares.upkeep + shares.appends)),
    breaksFirst: isFull ? "places" : largest,
  };
}

function raise<Key extends string>(busiest: Record<Key, number>, now: Readonly<Record<Key, number>>): void {
  for (const key of Object.keys(now) as Key[]) busiest[key] = Math.max(busiest[key], now[key]);
}

/** Numbers from 0 to below 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How many of many independent things happen where `mean` are expected. */
function poisson(mean: number, random: () => number): number {
  if (mean > 100) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  let happened = 0;
  for (let left = Math.exp(-mean), product = random(); product > left; product *= random()) happened += 1;
  return happened;
}
