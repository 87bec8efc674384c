import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Costs, type Demand, planFleet } from "./fleet-plan.ts";
import { planTable } from "./plan-table.ts";

const costs: Costs = { appendsPerSecond: 1000, bytesWaiting: 2000, connections: 500 };
const demand: Demand = {
  workers: 100,
  concurrency: 8,
  connectionsPerWorker: 3,
  leaseMs: 15_000,
  reconcileMs: 1000,
  waiting: 100_000,
  meanWaitMs: 3_600_000,
  meanCalls: 5,
  meanCallMs: 200,
};

test("the same seed gives the same plan, and another one another", () => {
  expect(planFleet(costs, demand, 1)).toEqual(planFleet(costs, demand, 1));
  expect(planFleet(costs, demand, 1)).not.toEqual(planFleet(costs, demand, 2));
});

test("a plan follows from its demand: the busiest second is above the mean, and partitions hold what is needed", () => {
  const plan = planFleet(costs, demand, 1);
  const mean = (demand.waiting / demand.meanWaitMs) * 1000;
  expect(plan.decisionsPerSecond).toBeGreaterThan(mean);
  expect(plan.decisionsPerSecond).toBeLessThan(mean * 10);
  expect(plan.appendsPerSecond).toBeGreaterThan(mean * (demand.meanCalls + 3));
  expect(plan).toMatchObject({ connections: 300, bytes: 200_000_000 });
  expect(plan.partitions).toBe(Math.ceil((plan.appendsPerSecond + plan.upkeepPerSecond) / 1000));
  expect(planFleet(costs, { ...demand, workers: 2000 }, 1)).toMatchObject({
    breaksFirst: "connections",
    partitions: 12,
  });
  expect(planFleet(costs, { ...demand, workers: 2 }, 1).breaksFirst).toBe("places");
});

test("the document has the table that is computed", () => {
  const words = (text: string) =>
    text.split("\n").map((line) => line.split("|").map((cell) => cell.trim().replaceAll(/^[-:]+$/g, "-")));
  const [, table = ""] = /<!-- plan -->\n\n([^]*?)\n\n/.exec(readFileSync("docs/fleet.md", "utf8")) ?? [];
  expect(words(table)).toEqual(words(planTable().trim()));
});
