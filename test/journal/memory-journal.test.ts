import { expect, test } from "vitest";
import { createMemoryJournal, type Header, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { journalSuite, listed } from "./journal-suite.ts";
import { header, outcome, turn } from "./records.ts";
import { failing } from "../support/failing.ts";

journalSuite(() => createMemoryJournal());

/** Texts of this length are much longer than the rest of their records. */
const UNIT = 10_000;
const LONG = "x".repeat(UNIT);
const ANSWERED = { type: "answered", call: "1", ok: true, ms: 1, bytes: 1, at: 0 } as const;

/** Writes an execution whose texts have this many units in all, and some more characters. */
async function write(journal: Journal, execution: string, length: number, ended: boolean, tenant = "a"): Promise<void> {
  await journal.create(header(execution, { program: "", source: "", tenant }));
  const event = "x".repeat(UNIT * length);
  await journal.append(execution, 1, [turn(event), ...(ended ? [outcome] : [])]);
}

async function kept(journal: Journal): Promise<string[]> {
  return (await listed(journal)).map(({ execution }) => execution).toReversed();
}

test("ended executions are kept up to keepLength, and then the earliest are deleted", async () => {
  const journal = createMemoryJournal({ keepLength: 10.5 * UNIT });
  await write(journal, "one", 5, true);
  await write(journal, "two", 5, true);
  expect(await kept(journal)).toEqual(["one", "two"]);
  await write(journal, "three", 1, true);
  expect(await kept(journal)).toEqual(["two", "three"]);
  await write(journal, "four", 9, true);
  expect(await kept(journal)).toEqual(["three", "four"]);
});

test("beyond keepLength the tenant with most loses its oldest executions, and no other any", async () => {
  const journal = createMemoryJournal({ keepLength: 10.5 * UNIT });
  await write(journal, "paid", 3, true, "b");
  for (const [execution, length] of Object.entries({ one: 4, two: 4, huge: 11, three: 7 })) {
    await write(journal, execution, length, true, "a");
    expect(await kept(journal)).toContain("paid");
  }
  expect(await kept(journal)).toEqual(["paid", "three"]);
  await write(journal, "more", 8, true, "b");
  expect(await kept(journal)).toEqual(["three"]);
});

test("running executions are never deleted, and do not count against keepLength", async () => {
  const journal = createMemoryJournal({ keepLength: 10.5 * UNIT });
  await write(journal, "running", 50, false);
  await write(journal, "ended", 10, true);
  expect(await kept(journal)).toEqual(["running", "ended"]);
  await write(journal, "later", 10, true);
  expect(await kept(journal)).toEqual(["running", "later"]);
});

test.each<[string, Parameters<typeof header>[1], object]>([
  ["program", { program: LONG }, {}],
  ["source", { source: LONG }, {}],
  ["event", {}, turn(LONG)],
  ["command", {}, turn("x", "x", LONG)],
  ["outcome", {}, { ...outcome, outcome: LONG }],
  ["display", {}, { ...ANSWERED, display: LONG }],
  ["addresses that a result named", {}, { ...ANSWERED, named: LONG.match(/.{50}/g) }],
  ["input that a schema made", {}, { type: "call", call: "1", decision: "allowed", at: 0, input: LONG }],
  ["note", {}, { type: "decision", call: "1", allow: true, at: 0, note: LONG }],
])("the %s of an execution counts against keepLength", async (_, about, record) => {
  const journal = createMemoryJournal({ keepLength: LONG.length - 1 });
  await journal.create(header("small"));
  await journal.append("small", 1, [turn("x"), outcome]);
  expect(await kept(journal)).toEqual(["small"]);
  await journal.create(header("large", about));
  await journal.append("large", 1, [record as JournalRecord, outcome]);
  expect(await kept(journal)).toEqual([]);
});

test("the error for a deleted execution says why it may be gone", async () => {
  const journal = createMemoryJournal({ keepLength: 0 });
  await write(journal, "gone", 100, true);
  await expect(Array.fromAsync(journal.read("gone"))).rejects.toMatchObject(
    failing("execution_unknown", /"gone".*keepLength/),
  );
});

test("a tenant whose open executions hold as much as it leaves to others begins no further one, and says nothing in a conversation, until one has ended; others do", async () => {
  const journal = createMemoryJournal();
  const about = { kind: "conversation", model: "scripted:m", task: "", programs: "local" } as const;
  for (const tenant of ["a", "b"])
    await journal.create({ ...header(`${tenant} talks`, { tenant }), ...about } as unknown as Header);
  const goOn = (tenant: string) =>
    journal.append(`${tenant} talks`, 1, [{ type: "claim", driver: "d1", leaseMs: 15_000, at: 10 }]);
  const texts = Array.from({ length: 16 }, () => turn("x".repeat(2 ** 20)));
  const begin = (execution: string, tenant: string) => journal.create(header(execution, { tenant }));
  let begun = 0;
  for (; begun < 10_000; begun += 1) {
    const execution = `a${begun}`;
    try {
      await begin(execution, "a");
    } catch (error) {
      expect(error).toMatchObject({ code: "busy", message: expect.stringContaining("A journal in memory") as string });
      break;
    }
    await journal.append(execution, 1, texts);
  }
  expect(begun).toBeLessThan(10_000);
  await begin("b", "b");
  await goOn("b");
  await expect(goOn("a")).rejects.toMatchObject({ code: "busy" });
  await journal.create(header("part", { tenant: "a", parent: { execution: "a0", call: "1" } }));
  await journal.append("a0", 1 + texts.length, [outcome]);
  await begin("again", "a");
  await goOn("a");
});
