import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createFleet, createPostgresJournal, type PostgresJournalOptions } from "../../src/fleet/index.ts";
import { createRuntime } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { noPostgres, type UrlParts } from "../postgres-support/postgres-server.ts";
import { usePostgres } from "../postgres-support/use-postgres.ts";
import { heldTransaction } from "../postgres-support/held-transaction.ts";
import { failing } from "../support/failing.ts";
import { makeTool } from "../support/tools.ts";
import { testOfAll } from "../support/all-tests.ts";

/*
 * What may be wrong around a fleet is told in one clear sentence, and nothing is lost. What is wrong with its database alone is
 * the journal's to tell: `postgres/failures.test.ts`.
 */

const inputSchema = z.object({ n: z.number() });
const double = makeTool({ name: "double", inputSchema, execute: ({ n }) => 2 * n });
const DOUBLE = "return await tools.double({ n: 21 });";
const DONE = { type: "completed", value: 42 };

describe.skipIf(noPostgres)("bad input of a fleet", () => {
  const server = usePostgres();
  let count = 0;

  async function makeDatabase(): Promise<string> {
    const database = `bad_${(count += 1)}`;
    await server.sql(`CREATE DATABASE ${database}`);
    return database;
  }

  /** Processes of one fleet, in a database of its own or as this user. */
  async function share(parts?: UrlParts) {
    const processes = new AsyncDisposableStack();
    const address = server.url(parts ?? { database: await makeDatabase() });
    const told: string[] = [];
    const join = async (options: Partial<PostgresJournalOptions> = {}) => {
      const journal = processes.use(createPostgresJournal({ url: address, ...options }));
      const fleet = processes.use(
        createFleet({ journal, onError: (error) => void told.push(`queue: ${String(error)}`) }),
      );
      const own = { sandbox: createMemorySandbox(), approve: () => "later" as const, leaseMs: 1000 };
      return processes.use(await createRuntime({ tools: [double], logger: { error: () => {} }, ...own, fleet }));
    };
    const work = async (runtime: Awaited<ReturnType<typeof join>>) =>
      processes.use(
        await runtime.fleet!.work(runtime, {
          reconcileMs: 100,
          onError: (error) => void told.push((error as Error).message),
        }),
      );
    return { join, work, told, [Symbol.asyncDispose]: () => processes.disposeAsync() };
  }

  /** What a process is told that cannot become a part of the fleet. */
  async function refused(parts: UrlParts) {
    await using shared = await share(parts);
    const error: unknown = await shared.join().catch((cause: unknown) => cause);
    expect(String(error)).not.toContain("correct-horse");
    return error;
  }

  test("a schema without rights: that of the journal, and that of the queue", async () => {
    const database = await makeDatabase();
    await server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest-word'");
    const guest = { user: "guest", password: "guest-word", database };
    expect(await refused(guest)).toMatchObject(failing("journal_read_only", /may not be used by this user/));
    await server.sqlIn(database, "CREATE SCHEMA portcullis AUTHORIZATION guest");
    expect(await refused(guest)).toMatchObject({
      code: "queue_unavailable",
      message: expect.stringMatching(
        /\(schema portcullis_queue\): permission denied .*right to create a schema/,
      ) as string,
    });
  });

  testOfAll(
    "a queue that answers slowly: a submission is whole or not there, a worker says what it waits for, and all goes on",
    async () => {
      await using shared = await share();
      const submitter = await shared.join({ unavailableMs: 2000 });
      const worker = await shared.join({ unavailableMs: 2000 });
      await submitter.fleet!.submit(submitter, DOUBLE, { id: "before" });
      const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const holding = heldTransaction(server.url({ database: `bad_${count}` }), async (sql) => {
        await sql("LOCK TABLE portcullis_queue.job IN ACCESS EXCLUSIVE MODE");
        held.resolve();
        await release.promise;
      });
      await held.promise;
      await shared.work(worker);
      await expect(submitter.fleet!.submit(submitter, DOUBLE, { id: "slow" })).rejects.toMatchObject(
        failing("journal_unavailable", "Nothing of this is half done"),
      );
      expect((await Array.fromAsync(submitter.executions.list())).map(({ execution }) => execution)).toEqual([
        "before",
      ]);
      await expect
        .poll(() => shared.told, { timeout: 20_000 })
        .toContainEqual(expect.stringMatching(/cannot be used, for \d+ ms/));
      release.resolve();
      await holding;
      await submitter.fleet!.submit(submitter, DOUBLE, { id: "slow" });
      for (const id of ["before", "slow"]) expect((await submitter.execution(id).wait()).report?.outcome).toEqual(DONE);
    },
    120_000,
  );
});
