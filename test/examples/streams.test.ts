import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ORDERS_A_DAY, ordersOf, paymentsOf } from "../../examples/streams/rows.ts";
import tools from "../../examples/streams/tools.ts";
import { createRuntime } from "../../src/index.ts";

const folder = fileURLToPath(new URL("../../examples/streams/", import.meta.url));
const read = (file: string) => readFileSync(folder + file, "utf8");
const task = JSON.parse(read("task.json")) as {
  readonly question: string;
  readonly answer: unknown;
  readonly limits: Readonly<Record<string, number>>;
};

/** What is owed, without a merge: a table of all orders, from which each payment is taken. */
function owed(days: number) {
  const open = new Float64Array(days * ORDERS_A_DAY);
  const countries: string[] = [];
  for (const { id, cents, country } of ordersOf(days)) {
    open[Number(id.slice("order-".length))] = cents;
    countries.push(country);
  }
  for (const { order, cents } of paymentsOf(days)) {
    const index = Number(order.slice("order-".length));
    open[index] = (open[index] ?? 0) - cents;
  }
  const sums = new Map<string, { country: string; orders: number; cents: number }>();
  for (const [index, cents] of open.entries()) {
    if (cents === 0) continue;
    const country = countries[index] ?? "";
    const { orders = 0, cents: before = 0 } = sums.get(country) ?? {};
    sums.set(country, { country, orders: orders + 1, cents: before + cents });
  }
  return [...sums.values()].toSorted((one, other) => other.cents - one.cents).slice(0, 5);
}

test("its program merges two streams of a few days as a table of all orders does", async () => {
  await using runtime = await createRuntime({ tools, limits: { cpuMs: 60_000 } });
  const days = 3;
  const { outcome, calls, usage } = await runtime.execute(read("program.js").replaceAll("days: 1000", `days: ${days}`));
  expect(outcome).toEqual({ type: "completed", value: owed(days) });
  const items = [[...ordersOf(days)], [...paymentsOf(days)]];
  // In the order of their ends, which may be either.
  const counts = calls.map((call) => call.items ?? 0).toSorted((one, other) => one - other);
  expect(counts).toEqual(items.map(({ length }) => length).toSorted((one, other) => one - other));
  const bytes = items.flat().reduce((sum, item) => sum + JSON.stringify(item).length, 0);
  expect(usage.bytesIn).toBeGreaterThanOrEqual(bytes);
  expect(usage.bytesOut).toBeLessThan(300);
});

test("its rows are the same in each run, sorted by the order, and about 200 bytes each", () => {
  const orders = [...ordersOf(1)];
  expect([...ordersOf(1)]).toEqual(orders);
  const payments = [...paymentsOf(1)];
  for (const ids of [orders.map(({ id }) => id), payments.map(({ order }) => order)])
    expect(ids).toEqual(ids.toSorted());
  for (const rows of [orders, payments])
    expect(JSON.stringify(rows).length / rows.length).toSatisfy((bytes: number) => bytes > 185 && bytes < 205);
});

test("its README says what the task asks", () => {
  expect(read("README.md")).toContain(`> ${task.question}\n`);
});

test.runIf(process.env["PORTCULLIS_TESTS"] === "all")(
  "its answer is that of other code on all rows",
  { timeout: 300_000 },
  () => {
    expect(owed(1000)).toEqual(task.answer);
  },
);
