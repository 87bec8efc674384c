import { afterAll, describe, expect, test } from "vitest";
import { PgBossQueue } from "../../../src/fleet/queue/pg-boss-queue.ts";
import { type FleetDatabase, FleetStore } from "../../../src/fleet/fleet-store.ts";
import { createPostgresJournal, type PostgresJournal } from "../../../src/fleet/postgres/postgres-journal.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { header } from "../../journal/records.ts";
import { heldTransaction } from "../../postgres-support/held-transaction.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";

/** Executions of one tenant that wait for a worker. */
const QUEUED = ALL_TESTS ? 100_000 : 5000;
const AT_ONCE = 10;
/** Rows that a step of a plan may see: what is taken at once, pages, and what was taken a moment ago. */
const FEW = 1500;

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

describe.skipIf(noPostgres)(`a tenant with ${QUEUED} executions that wait for a worker`, () => {
  let journal: PostgresJournal;
  let database: FleetDatabase;
  let queue: PgBossQueue;
  /** What was asked of the database since it was emptied last. */
  const asked: Asked[] = [];

  const prepare = async (started: { readonly url: () => string }) => {
    journal = createPostgresJournal({ url: started.url(), statementMs: 120_000 });
    database = {
      schema: journal.schema,
      query: (text, values = []) => {
        asked.push({ text, values });
        return journal.query(text, values);
      },
      onNotify: (channel, listener) => journal.onNotify(channel, listener),
    };
    queue = new PgBossQueue(database, (error) => expect.unreachable(String(error)));
    await journal.create(header("a0", { tenant: "a" }));
    await queue.wake([{ execution: "a0", tenant: "a", isNew: true }]);
    // As that many more submissions would have left them.
    await copy("portcullis.executions", { id: "'a' || n" }, ["number"]);
    const job = { id: "gen_random_uuid()", priority: "-1 - n", singleton_key: "'a' || n" };
    await copy("portcullis_queue.job", { ...job, data: `jsonb_build_object('tenant', 'a', 'execution', 'a' || n)` });
  };
  const server = usePostgres(prepare, { autovacuum: "off" });
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
    await using other = new PgBossQueue(database, (error) => expect.unreachable(String(error)));
    for (const [round, sender] of [queue, other, queue].entries()) {
      const before = taken.length;
      await sender.wake([{ execution: `b${round}`, tenant: "b", isNew: true }]);
      await take(3 * AT_ONCE, taken);
      expect(taken.indexOf(`b${round}`), `b${round}`).toBeGreaterThanOrEqual(before);
      expect(taken.indexOf(`b${round}`), `b${round}`).toBeLessThan(before + AT_ONCE + 3);
    }
    expect(taken.filter((execution) => execution.startsWith("a"))).toHaveLength(100 + 9 * AT_ONCE - 3);
  }, 300_000);

  test("is not looked through by any statement that takes, adds, ends or finds a wake, once the database has looked at its tables", async () => {
    for (const table of ["portcullis_queue.job_common", "portcullis.executions"])
      await journal.query(`VACUUM ANALYZE ${table}`);
    asked.length = 0;
    await take(3 * AT_ONCE);
    await queue.wake([{ execution: `of c`, tenant: "c", isNew: true }]);
    await queue.wake([{ execution: `of d`, tenant: "d" }]);
    const fresh = new PgBossQueue(database, (error) => expect.unreachable(String(error)));
    await fresh.wake([{ execution: `of e`, tenant: "e", isNew: true }]);
    await fresh[Symbol.asyncDispose]();
    const store = new FleetStore(database);
    for (let round = 0; round < 3; round += 1) await store.lost(1000);
    await store.held();
    const reading = asked.filter(
      ({ text, values }) => values.length > 0 && /^\s*(SELECT|WITH|UPDATE|INSERT|DELETE)/i.test(text),
    );
    const texts = new Map(reading.map((one) => [one.text, one]));
    expect(texts.size).toBeGreaterThan(7);
    const many: string[] = [];
    for (const { text, values } of texts.values()) {
      const steps = (await stepsOf(text, values)).filter((step) => rowsOf(step) >= FEW);
      for (const step of steps)
        many.push(`${step["Node Type"]} ${step["Index Name"] ?? step["Relation Name"]}, ${rowsOf(step)} rows: ${text}`);
    }
    expect(many).toEqual([]);
  }, 300_000);

  /** The steps of a statement's plan, with what they saw when it was run; it changes nothing. */
  async function stepsOf(text: string, values: readonly unknown[]): Promise<readonly PlanNode[]> {
    const undone = new Error("undone");
    let plan: PlanNode | undefined;
    await heldTransaction(server.url(), async (sql) => {
      const { rows } = await sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      const [explained] = rows.map((row) => row["QUERY PLAN"] as [{ readonly Plan: PlanNode }]);
      plan = explained?.[0].Plan;
      throw undone;
    }).catch((error: unknown) => {
      if (error !== undone) throw error;
    });
    const below = (node: PlanNode): PlanNode[] => [{ ...node, Plans: undefined }, ...(node.Plans ?? []).flatMap(below)];
    return plan ? below(plan) : [];
  }
});

function rowsOf(step: PlanNode): number {
  return (step["Actual Rows"] + (step["Rows Removed by Filter"] ?? 0)) * step["Actual Loops"];
}
