import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createFleet } from "../../../src/fleet/index.ts";
import { createRuntime, defineTool } from "../../../src/index.ts";
import { createPostgresJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/testing.ts";
import { noPostgres, type PostgresServer } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";
import { MemoryQueue } from "../memory-queue.ts";

const common = {
  description: "d",
  input: z.object({ n: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "read",
} as const;
const tools = [
  defineTool({ ...common, name: "double", handler: ({ n }) => n * 2 }),
  defineTool({ ...common, name: "rare", concurrency: 1, handler: ({ n }) => n * 3 }),
];

describe.skipIf(noPostgres)("tables of a fleet whose queue is not pg-boss", () => {
  let server: PostgresServer;
  let count = 0;
  usePostgres((started) => {
    server = started;
  });

  /** A database and a queue of the test's own, and processes of its fleet. */
  async function share() {
    const database = `table_${(count += 1)}`;
    await server.sql(`CREATE DATABASE ${database}`);
    const stack = new AsyncDisposableStack();
    const queue = new MemoryQueue();
    const join = async () => {
      const journal = stack.use(createPostgresJournal({ url: server.url({ database }) }));
      const fleet = stack.use(createFleet({ journal, queue }));
      return stack.use(await createRuntime({ tools, sandbox: createMemorySandbox(), fleet }));
    };
    return { queue, join, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test("are made by the first process that needs them: what is forgotten is found, and tools with limits are called", async () => {
    await using shared = await share();
    const [server1, server2] = [await shared.join(), await shared.join()];
    const first = await server1.submit("return [await tools.double({ n: 1 }), await tools.rare({ n: 1 })];");
    shared.queue.lose();
    const told: unknown[] = [];
    await using _ = await server2.work({ reconcileMs: 100, onError: (error) => told.push(error) });
    expect((await server1.wait(first)).report?.outcome).toEqual({ type: "completed", value: [2, 3] });
    expect(told).toEqual([]);
  });
});
