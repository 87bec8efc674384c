import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DatabaseRoster, ProcessRoster, type Roster } from "../../../src/fleet/figures/roster.ts";
import { FiguresOfWorker } from "../../../src/fleet/figures/worker-figures.ts";
import { createFleet } from "../../../src/fleet/index.ts";
import { createPostgresJournal } from "../../../src/journal/postgres/postgres-journal.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";

/** What every roster does. `forget`: a worker tells nothing for longer than a living one. */
function behavesAsRoster(
  name: string,
  open: () => Promise<{ roster: Roster; forget?: (worker: string) => Promise<void> }>,
) {
  describe(`a roster ${name}`, () => {
    test("sums what workers told last, and what they ever claimed, also of those that left", async () => {
      const { roster } = await open();
      expect(await roster.read()).toEqual({ workers: 0, places: 0, driven: 0, claims: 0, takeovers: 0 });
      await roster.tell("a", { places: 8, driven: 3, claims: 5, takeovers: 1 });
      await roster.tell("b", { places: 4, driven: 4, claims: 2, takeovers: 0 });
      await roster.tell("a", { places: 8, driven: 1, claims: 1, takeovers: 0 });
      expect(await roster.read()).toEqual({ workers: 2, places: 12, driven: 5, claims: 8, takeovers: 1 });
      await roster.leave("a");
      await roster.leave("a");
      expect(await roster.read()).toEqual({ workers: 1, places: 4, driven: 4, claims: 8, takeovers: 1 });
    });

    test("counts no worker that has told nothing for long, and its claims once if it comes back", async () => {
      const { roster, forget } = await open();
      if (!forget) return;
      await roster.tell("dead", { places: 8, driven: 8, claims: 5, takeovers: 2 });
      await forget("dead");
      expect(await roster.read()).toEqual({ workers: 0, places: 0, driven: 0, claims: 5, takeovers: 2 });
      await roster.tell("dead", { places: 8, driven: 0, claims: 1, takeovers: 0 });
      expect(await roster.read()).toEqual({ workers: 1, places: 8, driven: 0, claims: 6, takeovers: 2 });
    });
  });
}

behavesAsRoster("of one process", async () => ({ roster: new ProcessRoster() }));

describe.skipIf(noPostgres)("with PostgreSQL", () => {
  let server: PostgresServer;
  let count = 0;
  const stack = new AsyncDisposableStack();
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 120_000);
  afterAll(async () => {
    await stack.disposeAsync();
    await server[Symbol.asyncDispose]();
  }, 60_000);

  behavesAsRoster("in PostgreSQL", async () => {
    const database = `roster_${(count += 1)}`;
    await server.sql(`CREATE DATABASE ${database}`);
    const journal = stack.use(createPostgresJournal({ url: server.url({ database }) }));
    await stack.use(createFleet({ journal })).open();
    const old = "UPDATE portcullis_queue.workers SET seen_at = now() - interval '1 hour' WHERE id = $1";
    return { roster: new DatabaseRoster(journal), forget: async (worker) => void (await journal.query(old, [worker])) };
  });
});

test("a claim of an execution that its driver lost is a takeover, and one of what was given back or is new is none", async () => {
  const roster = new ProcessRoster();
  const figures = new FiguresOfWorker(roster, () => ({ places: 2, driven: 1 }));
  const leases = { new: undefined, givenBack: 0, lost: Date.now() - 1 };
  for (const [execution, until] of Object.entries(leases)) {
    figures.noteLook({ execution, ...(until !== undefined && { lease: { driver: "d", until } }) });
    figures.noteClaim(execution);
  }
  figures.noteClaim("of another worker");
  figures.noteLook({ execution: "not claimed" });
  figures.forget("not claimed");
  figures.noteClaim("not claimed");
  await figures.tell();
  await figures.tell();
  expect(await roster.read()).toEqual({ workers: 1, places: 2, driven: 1, claims: 3, takeovers: 1 });
  await figures.end();
  expect(await roster.read()).toMatchObject({ workers: 0, claims: 3 });
});

test("what could not be told is told with the next", async () => {
  const inner = new ProcessRoster();
  let fails = true;
  const roster: Roster = {
    tell: (worker, told) => (fails ? Promise.reject(new Error("no database")) : inner.tell(worker, told)),
    leave: (worker) => inner.leave(worker),
    read: () => inner.read(),
  };
  const figures = new FiguresOfWorker(roster, () => ({ places: 1, driven: 0 }));
  figures.noteLook({ execution: "one" });
  figures.noteClaim("one");
  await figures.tell();
  fails = false;
  await figures.end();
  expect((await inner.read()).claims).toBe(1);
});
