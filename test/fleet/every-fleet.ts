import { describe } from "vitest";
import { createFleet } from "../../src/fleet/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createPostgresJournal } from "../../src/journal/postgres/postgres-journal.ts";
import { describeOfAll } from "../support/all-tests.ts";
import { noPostgres, type PostgresServer } from "../postgres-support/postgres-server.ts";
import { usePostgres } from "../postgres-support/use-postgres.ts";
import type { SharedFleet } from "./fleet.suite.ts";
import { MemoryQueue } from "./memory-queue.ts";

/** Runs a suite over every kind of fleet, in `make test` over the one that machines have, if they can have it here. */
export function overEveryFleet(suite: (name: string, open: () => Promise<SharedFleet>) => void): void {
  (noPostgres ? describe : describeOfAll)("in memory", () =>
    suite("a journal and a queue in memory", async () => {
      const journal = createMemoryJournal();
      const queue = new MemoryQueue();
      return {
        join: () => createFleet({ journal, queue }),
        loseWakes: async () => queue.lose(),
        wakes: async () => queue.size,
        [Symbol.asyncDispose]: async () => {},
      };
    }),
  );

  describe.skipIf(noPostgres)("with PostgreSQL", () => {
    let server: PostgresServer;
    let count = 0;
    usePostgres((started) => {
      server = started;
    });

    suite("PostgreSQL and pg-boss", async () => {
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
}
