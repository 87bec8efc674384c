import { fork } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import type { StoredJournal } from "../../src/journal/index.ts";
import { listed } from "./journal-suite.ts";
import { header, outcome, RECORDS, turn } from "./records.ts";

/** An empty store that processes share, which is there for as long as a test. */
export interface DurableStore {
  /** A journal of this store, as each of its processes opens one. */
  readonly open: () => StoredJournal;
  readonly close: (journal: StoredJournal) => PromiseLike<void> | void;
  /** Rows that a statement of the store's own database gives. */
  readonly sql: (text: string) => Promise<readonly unknown[]> | readonly unknown[];
  /** What `append-process.ts` opens it by. */
  readonly address: readonly string[];
}

const LARGE = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => n));

/** What every store promises that outlives its processes, besides what all stores do. Each test asks for an empty one. */
export function durableJournalSuite(makeStore: () => DurableStore, processes: number): void {
  test("is there again for the next process, and refuses what is asked after it was closed", async () => {
    const store = makeStore();
    const first = store.open();
    await first.create(header("one"));
    await first.append("one", 1, [...RECORDS, outcome]);
    await store.close(first);
    const second = store.open();
    expect(await Array.fromAsync(second.read("one"))).toEqual([header("one"), ...RECORDS, outcome]);
    expect(await listed(second)).toMatchObject([{ execution: "one", ended: true }]);
    await expect(first.find("one")).rejects.toMatchObject({ code: "runtime_closed" });
    await expect(first.create(header("two"))).rejects.toMatchObject({ code: "runtime_closed" });
    await expect(listed(first)).rejects.toMatchObject({ code: "runtime_closed" });
  });

  test("is written by several processes at once that find it empty: each append at one head goes through once", async () => {
    const store = makeStore();
    const script = new URL("append-process.ts", import.meta.url);
    const children = Array.from({ length: processes }, (_, number) =>
      fork(script, [`process ${number}`, "20", ...store.address], { execArgv: ["--conditions=portcullis-source"] }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as number));
    expect(codes).toEqual(children.map(() => 0));
    const journal = store.open();
    const events = (await Array.fromAsync(journal.read("shared"))).flatMap((record) =>
      record.type === "turn" ? [record.event] : [],
    );
    const expected = Array.from({ length: processes }, (_, number) =>
      Array.from({ length: 20 }, (_two, n) => `process ${number}: ${n}`),
    ).flat();
    expect(events.toSorted()).toEqual(expected.toSorted());
    expect(await listed(journal)).toHaveLength(processes + 1);
  }, 120_000);

  test("keeps a large text once, however many records and executions have it", async () => {
    const store = makeStore();
    const journal = store.open();
    for (const execution of ["one", "two"]) {
      await journal.create(header(execution));
      const answers = [1, 2, 3].map((id) => turn(`{"kind":"answer","id":${id}}\n${LARGE}`));
      await journal.append(execution, 1, answers);
    }
    const texts = (await store.sql("SELECT bytes FROM texts")) as readonly { readonly bytes: unknown }[];
    expect(texts.map(({ bytes }) => Number(bytes))).toEqual([LARGE.length]);
  });

  test.each([
    ["a missing record", "DELETE FROM records WHERE position = 1", /record 1 .* is missing/],
    ["a record that is not JSON", "UPDATE records SET record = '{' WHERE position = 1", /not JSON/],
    [
      "a record of an unknown type",
      `UPDATE records SET record = '{"type":"x"}' WHERE position = 1`,
      /no record of type "x"/,
    ],
    [
      "a record whose type has no text",
      `UPDATE records SET record = '{"type":{"toString":[]}}' WHERE position = 1`,
      /no record of type \{"toString":\[\]\}/,
    ],
    [
      "a second header",
      "UPDATE records SET record = (SELECT record FROM records WHERE position = 0) WHERE position = 1",
      /record 1 is a header/,
    ],
    ["an altered large text", "UPDATE texts SET data = sha256", /cannot be decompressed/],
    ["a large text under another hash", "UPDATE texts SET sha256 = substr(sha256, 2)", /is missing/],
    ["another tenant in the list", "UPDATE executions SET tenant = 'other'", /does not match|is missing/],
    ["an execution that is listed as open", "UPDATE executions SET ended = (1 = 0)", /disagree/],
  ])("is whole for its check, which finds %s", async (_, sql, problem) => {
    const store = makeStore();
    const journal = store.open();
    await journal.create(header("one"));
    await journal.append("one", 1, [turn("a"), turn(`{"kind":"answer"}\n${LARGE}`), outcome]);
    expect(await Array.fromAsync(journal.check())).toEqual([]);
    await store.sql(sql);
    expect(await Array.fromAsync(store.open().check())).toEqual([
      { execution: "one", problem: expect.stringMatching(problem) as string },
    ]);
  });

  test("prune keeps what a driver holds, and the ended programs of an open conversation", async () => {
    const journal = makeStore().open();
    await journal.create(header("driven", { startedAt: 1 }));
    await journal.append("driven", 1, [{ type: "claim", driver: "d", leaseMs: 60_000, at: Date.now() }]);
    await journal.create(header("above", { startedAt: 8 }));
    await journal.create(header("child", { startedAt: 1, parent: { execution: "above", call: "1" } }));
    await journal.append("child", 1, [outcome]);
    expect(await journal.prune({ before: 5, open: true })).toBe(0);
    await journal.append("above", 1, [outcome]);
    expect(await journal.prune({ before: 5, open: true })).toBe(1);
    expect((await listed(journal)).map(({ execution }) => execution)).toEqual(["above", "driven"]);
  });
}
