import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../../src/fleet/index.ts";
import { type Appended } from "../../../src/journal/index.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";
import { runs } from "../../support/all-tests.ts";
import { listed } from "../../journal/journal-suite.ts";
import { header, outcome, turn } from "../../journal/records.ts";

describe.skipIf(noPostgres)("many writers of one database", () => {
  const server = usePostgres();
  const open = (schema: string) => createPostgresJournal({ url: server.url(), schema });

  test("of 100 appends at the same head exactly one wins, whatever they share a commit with", async () => {
    const journals: PostgresJournal[] = [open("winners"), open("winners"), open("winners")];
    let round = 0;
    const plan = fc.array(
      fc.record({ execution: fc.nat(3), records: fc.integer({ min: 1, max: 3 }), isLarge: fc.boolean() }),
      { minLength: 100, maxLength: 100 },
    );
    await fc.assert(
      fc.asyncProperty(plan, async (appends) => {
        round += 1;
        const [first] = journals;
        const id = (execution: number) => `r${round}-${execution}`;
        for (let execution = 0; execution < 4; execution += 1) await first?.create(header(id(execution)));
        const made = await Promise.allSettled(
          appends.map(async ({ execution, records, isLarge }, number) => {
            const turns = Array.from({ length: records }, (_, n) =>
              turn(`${number}: ${n}`, ...(isLarge && number % 10 === 0 ? ["x".repeat(70_000)] : [])),
            );
            await journals[number % 3]?.append(id(execution), 1, turns);
            return { execution, turns };
          }),
        );
        for (const one of made) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "head_moved" });
        const won = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
        const winners = won.map(({ execution }) => execution);
        expect(new Set(winners)).toEqual(new Set(appends.map(({ execution }) => execution)));
        expect(winners).toHaveLength(new Set(winners).size);
        for (const { execution, turns } of won)
          expect(await Array.fromAsync(first?.read(id(execution)) ?? [])).toEqual([header(id(execution)), ...turns]);
      }),
      { numRuns: runs(12) },
    );
    for (const journal of journals) await journal[Symbol.asyncDispose]();
  }, 120_000);

  test("a change that PostgreSQL refuses undoes none of those it shares a commit with", async () => {
    await using journal = open("shared_commit");
    for (const id of ["a", "b", "c"]) await journal.create(header(id));
    const broken = { type: "claim", driver: "d", leaseMs: 0.5, at: 1 } as const;
    const made = await Promise.allSettled([
      journal.append("a", 1, [turn("a")]),
      journal.append("b", 1, [broken]),
      journal.append("c", 7, [turn("lost")]),
      journal.append("c", 1, [outcome]),
    ]);
    expect(made.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect((await listed(journal)).map(({ records }) => records)).toEqual([2, 1, 2]);
  });

  test("statements within an append are committed with it, and undo it if they fail", async () => {
    await using journal = open("within");
    await journal.query("CREATE TABLE within.jobs (id text PRIMARY KEY)");
    const send = (id: string) => async (sql: (text: string, values?: readonly unknown[]) => Promise<unknown>) => {
      await sql("INSERT INTO within.jobs VALUES ($1)", [id]);
    };
    await journal.create(header("one"), undefined, { within: send("made") });
    await journal.append("one", 1, [turn("a")], { within: send("appended") });
    const lost = (head: number, id: string) => journal.append("one", head, [turn("lost")], { within: send(id) });
    await expect(lost(2, "made")).rejects.toMatchObject({ code: "23505" });
    await expect(lost(1, "late")).rejects.toMatchObject({ code: "head_moved" });
    const again = journal.create(header("one"), undefined, { within: send("twice") });
    await expect(again).rejects.toMatchObject({ code: "execution_exists" });
    const { rows } = await journal.query("SELECT id FROM within.jobs ORDER BY id");
    expect(rows).toEqual([{ id: "appended" }, { id: "made" }]);
    expect(await journal.find("one")).toMatchObject({ records: 2 });
  });

  test("a process hears that another one's driver has given an execution back", async () => {
    await using journal = open("left");
    await using other = open("left");
    const told: Appended[] = [];
    using _ = journal.onAppend?.((appended) => told.push(appended));
    // Once it listens, it is told to look again.
    await expect.poll(() => told).toEqual([{}]);
    await other.create(header("one"), { driver: "d", until: Date.now() + 60_000 });
    await other.renew("one", { driver: "d", until: 0 });
    await expect
      .poll(() => told.slice(1))
      .toMatchObject([
        { execution: "one", head: 1, left: false },
        { execution: "one", head: 1, left: true },
      ]);
  });

  test("texts that are deleted as unused while others append the same are never missing", async () => {
    await using journal = open("races");
    await using other = open("races");
    const large = "y".repeat(100_000);
    for (let round = 0; round < 20; round += 1) {
      await journal.create(header(`old-${round}`, { startedAt: 1 }));
      await journal.append(`old-${round}`, 1, [turn(large), outcome]);
      await Promise.all([
        journal.prune({ before: 5 }),
        (async () => {
          await other.create(header(`new-${round}`, { startedAt: 9 }));
          await other.append(`new-${round}`, 1, [turn(large)]);
        })(),
      ]);
    }
    expect(await Array.fromAsync(journal.check())).toEqual([]);
    expect(await listed(journal)).toHaveLength(20);
    expect(await journal.prune({ before: 10, open: true })).toBe(20);
    expect((await journal.query("SELECT count(*)::int AS count FROM races.texts")).rows).toEqual([{ count: 0 }]);
  });
});
