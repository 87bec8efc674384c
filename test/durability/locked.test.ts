import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createRuntime, createSqliteJournal } from "../../src/index.ts";
import type { Journal, JournalRecord } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { failing } from "../support/failing.ts";
import { newFolder } from "../support/new-folder.ts";
import { notedTool, tool } from "../support/tools.ts";

const sandbox = createMemorySandbox();
const folder = newFolder();
let files = 0;

/** A journal, and a connection of another program to its file. `lockTimeoutMs` is how long an append waits for it. */
function open(lockTimeoutMs: number) {
  const path = join(folder, `${(files += 1)}.db`);
  const journal = createSqliteJournal({ path, lockTimeoutMs });
  return { journal, other: new DatabaseSync(path) };
}

/** A tool whose first run locks the journal before it returns, and one that notes its runs. */
function makeTools(lock: () => void) {
  let isFirst = true;
  const locking = tool("lock", () => {
    if (isFirst) lock();
    isFirst = false;
    return 1;
  });
  const { tool: paying, inputs: paid } = notedTool({ name: "pay", effect: "write", execute: () => 2 });
  return { tools: [locking, paying], paid };
}

const PROGRAM = "return (await tools.lock({})) + (await tools.pay({}));";
const typesOf = (records: readonly JournalRecord[]) => records.map(({ type }) => type);

test("while another process locks the journal no handler starts, and the program ends as if nothing had been", async () => {
  const { journal, other } = open(60_000);
  const locked = Promise.withResolvers<void>();
  const { tools, paid } = makeTools(() => {
    other.exec("BEGIN IMMEDIATE");
    locked.resolve();
  });
  await using runtime = await createRuntime({ tools, journal, sandbox });
  const running = runtime.execute(PROGRAM, { id: "one" });
  await locked.promise;
  const before = await Array.fromAsync(journal.read("one"));
  expect(paid).toEqual([]);
  expect(await Array.fromAsync(journal.read("one"))).toEqual(before);
  other.exec("ROLLBACK");
  expect((await running).outcome).toEqual({ type: "completed", value: 3 });
  expect(paid).toHaveLength(1);
});

test("an execution whose outcome could not be written is held no longer than its lease, and ends later with its value", async () => {
  const { journal, other } = open(20);
  const locking: Journal = {
    ...journal,
    append: (execution, expected, records, options) => {
      if (records.some(({ type }) => type === "outcome") && !isLocked) other.exec("BEGIN IMMEDIATE");
      isLocked ||= records.some(({ type }) => type === "outcome");
      return journal.append(execution, expected, records, options);
    },
    create: (...given) => journal.create(...given),
    read: (...given) => journal.read(...given),
    find: (...given) => journal.find(...given),
    list: (...given) => journal.list(...given),
    renew: (...given) => journal.renew(...given),
  };
  let isLocked = false;
  await using runtime = await createRuntime({ tools: [], journal: locking, sandbox, leaseMs: 100 });
  await expect(runtime.execute("return 1;", { id: "one" })).rejects.toMatchObject({ code: "journal_locked" });
  other.exec("ROLLBACK");
  await expect.poll(async () => ((await journal.find("one")).lease?.until ?? 0) < Date.now() - 200).toBe(true);
  const [report] = await Array.fromAsync(runtime.recover());
  expect(report).toMatchObject({ outcome: { type: "completed", value: 1 } });
});

test("a driver gives up when the journal stays locked, leaves no outcome, and another one goes on", async () => {
  const { journal, other } = open(20);
  const { tools, paid } = makeTools(() => other.exec("BEGIN IMMEDIATE"));
  {
    await using runtime = await createRuntime({ tools, journal, sandbox, leaseMs: 100 });
    await expect(runtime.execute(PROGRAM, { id: "one" })).rejects.toMatchObject(
      failing("journal_locked", "Nothing was written."),
    );
  }
  expect(paid).toEqual([]);
  // What reads the journal is not held up.
  expect(typesOf(await Array.fromAsync(journal.read("one")))).not.toContain("outcome");
  await using runtime = await createRuntime({ tools, journal, sandbox });
  await expect(runtime.execution("one").resume({})).rejects.toMatchObject({
    code: expect.stringMatching(/^(journal_locked|execution_driven)$/),
  });
  await expect(runtime.execute("return 1;", { id: "two" })).rejects.toMatchObject({ code: "journal_locked" });
  other.exec("ROLLBACK");
  await expect.poll(async () => ((await journal.find("one")).lease?.until ?? 0) < Date.now()).toBe(true);
  expect((await runtime.execution("one").resume()).outcome).toEqual({ type: "completed", value: 3 });
  expect(paid).toHaveLength(1);
  expect(await Array.fromAsync(journal.list())).toHaveLength(1);
});
