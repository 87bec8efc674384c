import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ORDERS } from "../../examples/desk/orders.ts";
import { portcullis, root } from "../cli/command.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-desk-"));
afterAll(() => rmSync(folder, { recursive: true }));

const late = ORDERS.filter(({ daysLate, country }) => daysLate > 0 && country === "DE");
const [dearest] = late.toSorted((one, other) => other.euros - one.euros);

/** A model in a module, as `--model` takes it. */
function modelOf(turns: readonly object[]): string {
  const file = join(folder, `model-${turns.length}.ts`);
  const testing = JSON.stringify(join(root, "src/testing.ts"));
  writeFileSync(
    file,
    `import { scriptedModel } from ${testing};\nexport default scriptedModel(${JSON.stringify(turns)});`,
  );
  return file;
}

const answer = (refunded: readonly object[]) => ({ text: JSON.stringify({ reply: "It is done.", refunded }) });
const refund = (order: string, euros: number) => ({
  programs: [`return tools.orders.refund({ order: "${order}", euros: ${euros} });`],
});

test("demo desk fetches once, keeps the list, asks about one refund, and its typed answer is that of the orders", async () => {
  const { code, stdout } = await portcullis(["demo", "desk"]);
  expect(stdout).toContain(`paid back: [{"order":"${dearest?.id}","euros":${dearest?.euros}}]`);
  expect(stdout.match(/orders\.list: value/g)).toHaveLength(1);
  expect(stdout.match(/needs approval: allowed by ann/g)).toHaveLength(1);
  expect(stdout).toMatch(/late orders: \d+ bytes/);
  expect(stdout).toContain("as it should be");
  expect(code).toBe(0);
});

test("demo desk plays with a model that works in another way, and takes its right answer", async () => {
  const { id = "", euros = 0 } = dearest ?? {};
  const books = [{ order: id, euros }];
  const model = modelOf([answer([]), refund(id, euros), answer(books), answer(books)]);
  const { code, stdout } = await portcullis(["demo", "desk", "--model", model]);
  expect(stdout).toContain("as it should be");
  expect(code).toBe(0);
});

test("demo desk finds that a model has paid the wrong order back, or says what it has not done", async () => {
  const wrong = [{ order: "A-1000", euros: 1 }];
  const paysWrong = modelOf([answer([]), refund("A-1000", 1), answer(wrong), answer(wrong), answer(wrong)]);
  const { id = "", euros = 0 } = dearest ?? {};
  const lies = modelOf([answer([]), answer([{ order: id, euros }]), answer([{ order: id, euros }])]);
  for (const model of [paysWrong, lies]) {
    const { code, stdout } = await portcullis(["demo", "desk", "--model", model]);
    expect(stdout).toContain("something else happened");
    expect(code).toBe(1);
  }
});
