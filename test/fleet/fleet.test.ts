import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFleet } from "../../src/fleet/index.ts";
import { createRuntime, createSqliteJournal } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createPostgresJournal } from "../../src/journal/postgres/postgres-journal.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { noPostgres, PostgresServer } from "../postgres-support/postgres-server.ts";
import { behavesAsFleet } from "./fleet.suite.ts";
import { MemoryQueue } from "./memory-queue.ts";

behavesAsFleet("a journal and a queue in memory", async () => {
  const journal = createMemoryJournal();
  const queue = new MemoryQueue();
  return {
    join: () => createFleet({ journal, queue }),
    loseWakes: async () => queue.lose(),
    wakes: async () => queue.size,
    [Symbol.asyncDispose]: async () => {},
  };
});

describe.skipIf(noPostgres)("with PostgreSQL", () => {
  let server: PostgresServer;
  let count = 0;
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 120_000);
  afterAll(() => server[Symbol.asyncDispose](), 60_000);

  behavesAsFleet("PostgreSQL and pg-boss", async () => {
    const database = `fleet_${(count += 1)}`;
    await server.sql(`CREATE DATABASE ${database}`);
    const stack = new AsyncDisposableStack();
    const open = () => stack.use(createPostgresJournal({ url: server.url({ database }) }));
    const own = open();
    const jobs = "SELECT count(*)::int AS jobs FROM portcullis_queue.job WHERE state <= 'active'";
    return {
      join: () => stack.use(createFleet({ journal: open() })),
      loseWakes: async () => void (await own.query("TRUNCATE portcullis_queue.job")),
      wakes: async () => Number((await own.query(jobs)).rows[0]?.["jobs"]),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  });
});

test("a fleet needs a journal that all its machines reach, and a runtime a fleet for its methods", async () => {
  using journal = createSqliteJournal({ path: ":memory:" });
  expect(() => createFleet({ journal })).toThrow(/createFleet\(\{ journal \}\): a fleet needs a journal in PostgreSQL/);
  expect(() => createFleet({ journal: createMemoryJournal() })).toThrow(/needs a journal in PostgreSQL/);
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  await expect(runtime.submit("return 1;")).rejects.toThrow("submit: this runtime has no fleet. Give it one");
  await expect(runtime.work()).rejects.toThrow("work: this runtime has no fleet. Give it one");
  const fleet = createFleet({ journal: createMemoryJournal(), queue: new MemoryQueue() });
  await expect(createRuntime({ tools: [], fleet, journal: createMemoryJournal() })).rejects.toThrow(
    "createRuntime: give a fleet or a journal",
  );
});
