import { expect, test } from "vitest";
import { createFleet } from "../../src/fleet/index.ts";
import { createRuntime, createSqliteJournal } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { overEveryFleet } from "./every-fleet.ts";
import { behavesAsFleet } from "./fleet.suite.ts";
import { MemoryQueue } from "./memory-queue.ts";

overEveryFleet(behavesAsFleet);

test("a fleet needs a journal that all its machines reach, and a runtime a fleet for its methods", async () => {
  using journal = createSqliteJournal({ path: ":memory:" });
  expect(() => createFleet({ journal })).toThrow(/createFleet\(\{ journal \}\): a fleet needs a journal in PostgreSQL/);
  expect(() => createFleet({ journal: createMemoryJournal() })).toThrow(/needs a journal in PostgreSQL/);
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  await expect(runtime.submit("return 1;")).rejects.toThrow("submit: this runtime has no fleet");
  await expect(runtime.work()).rejects.toThrow("work: this runtime has no fleet");
  const fleet = createFleet({ journal: createMemoryJournal(), queue: new MemoryQueue() });
  await expect(createRuntime({ tools: [], fleet, journal: createMemoryJournal() })).rejects.toThrow(
    "createRuntime: give a fleet or a journal",
  );
});
