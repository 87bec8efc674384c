import { afterAll, describe, expect, test } from "vitest";
import { PgBossQueue } from "../../../src/fleet/queue/pg-boss-queue.ts";
import { createPostgresJournal, type PostgresJournal } from "../../../src/fleet/postgres/postgres-journal.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { header } from "../../journal/records.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";

/** Executions of one tenant that wait for a worker. */
const QUEUED = ALL_TESTS ? 100_000 : 5000;
const AT_ONCE = 10;

describe.skipIf(noPostgres)(`a tenant with ${QUEUED} executions that wait for a worker`, () => {
  let journal: PostgresJournal;
  let queue: PgBossQueue;

  usePostgres(async (started) => {
    journal = createPostgresJournal({ url: started.url(), statementMs: 120_000 });
    queue = new PgBossQueue(journal, (error) => expect.unreachable(String(error)));
    await journal.create(header("a0", { tenant: "a" }));
    await queue.wake([{ execution: "a0", tenant: "a", isNew: true }]);
    // As that many more submissions would have left them.
    await copy("portcullis.executions", { id: "'a' || n" }, ["number"]);
    const job = { id: "gen_random_uuid()", priority: "-1 - n", singleton_key: "'a' || n" };
    await copy("portcullis_queue.job", { ...job, data: `jsonb_build_object('tenant', 'a', 'execution', 'a' || n)` });
  });
  afterAll(async () => {
    await queue[Symbol.asyncDispose]();
    await journal[Symbol.asyncDispose]();
  }, 60_000);

  /** Copies the only row of a table, with other values of some columns and without others. */
  async function copy(table: string, other: Readonly<Record<string, string>>, without: readonly string[] = []) {
    const { rows } = await journal.query(
      "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped",
      [table],
    );
    const names = rows.map(({ name }) => String(name)).filter((name) => !without.includes(name));
    const values = names.map((name) => other[name] ?? `t.${name}`);
    await journal.query(
      `INSERT INTO ${table} (${names.join()}) SELECT ${values.join()} FROM ${table} AS t, generate_series(1, ${QUEUED - 1}) AS n`,
    );
  }

  /** Takes so many wakes, a few at a time, and ends each. */
  async function take(count: number, taken: string[] = []): Promise<readonly string[]> {
    const ends: (() => void)[] = [];
    const before = taken.length;
    await using work = await queue.work({
      room: () => Math.min(AT_ONCE, before + count - taken.length) - ends.length,
      passedOver: async () => [],
      take: ({ execution }, done) => {
        taken.push(execution);
        ends.push(done);
      },
      onError: (error) => expect.unreachable(String(error)),
    });
    while (taken.length < before + count) {
      const known = taken.length;
      await expect.poll(() => taken.length, { interval: 2, timeout: 60_000 }).toBeGreaterThan(known);
      for (const done of ends.splice(0)) done();
      work.pull();
    }
    return taken;
  }

  test("delays the start of another tenant's by no more than what is taken at once, whichever process submits it", async () => {
    const taken = [...(await take(100))];
    await using other = new PgBossQueue(journal, (error) => expect.unreachable(String(error)));
    for (const [round, sender] of [queue, other, queue].entries()) {
      const before = taken.length;
      await sender.wake([{ execution: `b${round}`, tenant: "b", isNew: true }]);
      await take(3 * AT_ONCE, taken);
      expect(taken.indexOf(`b${round}`), `b${round}`).toBeGreaterThanOrEqual(before);
      expect(taken.indexOf(`b${round}`), `b${round}`).toBeLessThan(before + AT_ONCE + 3);
    }
    expect(taken.filter((execution) => execution.startsWith("a"))).toHaveLength(100 + 9 * AT_ONCE - 3);
  }, 300_000);
});
