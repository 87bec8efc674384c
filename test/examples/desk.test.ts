import { expect, test } from "vitest";
import { ORDERS } from "../../examples/desk/orders.ts";
import { portcullis } from "../cli/command.ts";

const late = ORDERS.filter(({ daysLate, country }) => daysLate > 0 && country === "DE");
const [dearest] = late.toSorted((one, other) => other.euros - one.euros);

test("demo desk fetches once, keeps the list, asks about one refund, and its typed answer is that of the orders", async () => {
  const { code, stdout } = await portcullis(["demo", "desk"]);
  expect(stdout).toContain(`paid back: [{"order":"${dearest?.id}","euros":${dearest?.euros}}]`);
  expect(stdout.match(/orders\.list: value/g)).toHaveLength(1);
  expect(stdout.match(/needs approval: allowed by ann/g)).toHaveLength(1);
  expect(stdout).toMatch(/late orders: \d+ bytes/);
  expect(stdout).toContain("as it should be");
  expect(code).toBe(0);
});
