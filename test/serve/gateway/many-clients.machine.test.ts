import { createIsolateSandbox } from "portcullis/sandboxes";
import { expect, test } from "vitest";
import { answersOf, expectRight } from "./many-clients.ts";

const MIB = 1024 * 1024;
/** Four times the clients may take four times the memory, and a half more of that. */
const MOST_RATIO = 6;

/** Bytes that the host holds at most beside what it held before, while so many clients ask at once. */
async function mostHeld(clients: number): Promise<number> {
  await using sandbox = createIsolateSandbox();
  const before = process.memoryUsage().rss;
  let most = before;
  const watching = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
  try {
    expectRight(await answersOf(clients, { sandbox }));
  } finally {
    clearInterval(watching);
  }
  return most - before;
}

test("200 clients at once take no more than six times the memory of 50", { timeout: 300_000 }, async () => {
  // The first clients load code.
  await mostHeld(50);
  const [few, many] = [await mostHeld(50), await mostHeld(200)];
  process.stdout.write(`50 clients: ${Math.round(few / MIB)} MiB more, 200 clients: ${Math.round(many / MIB)} MiB\n`);
  expect(many / Math.max(few, 16 * MIB)).toBeLessThan(MOST_RATIO);
});
