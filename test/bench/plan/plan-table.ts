import { markdown } from "../table.js";
import { type Costs, type Demand, planFleet } from "./fleet-plan.ts";

/** What `make bench-fleet` measured last (docs/fleet.md, "Sizes"), and connections that one PostgreSQL is assumed to allow. */
const COSTS: Costs = { appendsPerSecond: 2854, bytesWaiting: 3_614, connections: 2000 };

const SEED = 27;
const ALONE: Demand = {
  workers: 10_000,
  concurrency: 8,
  // One of its pool and one for notices: a worker with little to do opens no more.
  connectionsPerWorker: 2,
  leaseMs: 15_000,
  reconcileMs: 1000,
  waiting: 1_000_000,
  meanWaitMs: 86_400_000,
  meanCalls: 5,
  meanCallMs: 500,
};
const LARGER = { workers: 625, concurrency: 128, connectionsPerWorker: 9, reconcileMs: 10_000 };
const HOUR = { meanWaitMs: 3_600_000 };

const DEMANDS: readonly (readonly [what: string, demand: Demand])[] = [
  ["10,000 × 8 places, a decision after a day", ALONE],
  ["10,000 × 8 places, after an hour", { ...ALONE, ...HOUR }],
  ["625 × 128 places, after a day", { ...ALONE, ...LARGER }],
  ["625 × 128 places, after an hour", { ...ALONE, ...HOUR, ...LARGER }],
];

const figure = (value: number) => Math.round(value).toLocaleString("en-US");

/** The table of docs/fleet.md. */
export function planTable(): string {
  const rows = DEMANDS.map(([what, demand]) => {
    const plan = planFleet(COSTS, demand, SEED);
    return [
      what,
      figure(plan.decisionsPerSecond),
      figure(plan.drivenAtOnce),
      figure(plan.appendsPerSecond),
      figure(plan.upkeepPerSecond),
      figure(plan.noticesPerSecond),
      figure(plan.connections),
      figure(plan.partitions),
      plan.breaksFirst,
    ];
  });
  const head = [
    "workers, and how long executions wait on average",
    "decisions/s",
    "driven at once",
    "appends/s",
    "upkeep/s",
    "notices/s",
    "connections",
    "databases",
    "breaks first",
  ];
  return markdown(head, rows);
}
