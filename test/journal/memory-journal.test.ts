import { expect, test } from "vitest";
import { type Header, type Journal, createMemoryJournal } from "../../src/journal/index.ts";
import { journalSuite, listed } from "./journal-suite.ts";
import { header, outcome, turn } from "./records.ts";

journalSuite(() => createMemoryJournal());

/** Writes an execution whose texts have this many characters in all. */
async function write(journal: Journal, execution: string, length: number, ended: boolean, tenant = "a"): Promise<void> {
  await journal.create(header(execution, { program: "", source: "", tenant }));
  const event = "x".repeat(length - (ended ? outcome.outcome.length : 0));
  await journal.append(execution, 1, [turn(event), ...(ended ? [outcome] : [])]);
}

async function kept(journal: Journal): Promise<string[]> {
  return (await listed(journal)).map(({ execution }) => execution).toReversed();
}

test("ended executions are kept up to keepLength, and then the earliest are deleted", async () => {
  const journal = createMemoryJournal({ keepLength: 1000 });
  await write(journal, "one", 500, true);
  await write(journal, "two", 500, true);
  expect(await kept(journal)).toEqual(["one", "two"]);
  await write(journal, "three", 100, true);
  expect(await kept(journal)).toEqual(["two", "three"]);
  await write(journal, "four", 900, true);
  expect(await kept(journal)).toEqual(["three", "four"]);
});

test("beyond keepLength the tenant with most loses its oldest executions, and no other any", async () => {
  const journal = createMemoryJournal({ keepLength: 1000 });
  await write(journal, "paid", 300, true, "b");
  for (const [execution, length] of Object.entries({ one: 400, two: 400, huge: 1001, three: 700 })) {
    await write(journal, execution, length, true, "a");
    expect(await kept(journal)).toContain("paid");
  }
  expect(await kept(journal)).toEqual(["paid", "three"]);
  await write(journal, "more", 701, true, "b");
  expect(await kept(journal)).toEqual(["three"]);
});

test("running executions are never deleted, and do not count against keepLength", async () => {
  const journal = createMemoryJournal({ keepLength: 1000 });
  await write(journal, "running", 5000, false);
  await write(journal, "ended", 1000, true);
  expect(await kept(journal)).toEqual(["running", "ended"]);
  await write(journal, "later", 1000, true);
  expect(await kept(journal)).toEqual(["running", "later"]);
});

test("an execution larger than keepLength is deleted when it ends", async () => {
  const journal = createMemoryJournal({ keepLength: 100 });
  await write(journal, "large", 101, false);
  expect(await kept(journal)).toEqual(["large"]);
  await journal.append("large", 2, [outcome]);
  expect(await kept(journal)).toEqual([]);
});

test.each([
  [0, ["full", "next"]],
  [-1, ["next"]],
])(
  "programs, sources, events, commands and outcomes count against keepLength: with %i to spare, %j are kept",
  async (spare, left) => {
    const outcomeLength = outcome.outcome.length;
    const journal = createMemoryJournal({ keepLength: 10 + 15 + 12 + 4 + 4 + outcomeLength + outcomeLength + spare });
    await journal.create(header("full", { program: "x".repeat(10), source: "x".repeat(15) }));
    await journal.append("full", 1, [turn("x".repeat(12), "x".repeat(4), "x".repeat(4)), outcome]);
    await write(journal, "next", outcomeLength, true);
    expect(await kept(journal)).toEqual(left);
  },
);

test("an append after the end of an execution counts only its own length", async () => {
  const outcomeLength = outcome.outcome.length;
  const journal = createMemoryJournal({ keepLength: 1000 + outcomeLength });
  await write(journal, "one", 500, true);
  await journal.append("one", 3, []);
  await journal.append("one", 3, [turn("x".repeat(500))]);
  await journal.append("one", 4, [outcome]);
  expect(await kept(journal)).toEqual(["one"]);
  await journal.append("one", 5, [turn("x")]);
  expect(await kept(journal)).toEqual([]);
});

test("the error for a deleted execution says why it may be gone", async () => {
  const journal = createMemoryJournal({ keepLength: 0 });
  await write(journal, "gone", 100, true);
  await expect(Array.fromAsync(journal.read("gone"))).rejects.toMatchObject({
    code: "execution_unknown",
    message: expect.stringMatching(/"gone".*keepLength/) as string,
  });
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
