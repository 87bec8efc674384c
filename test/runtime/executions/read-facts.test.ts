import { createRuntime } from "portcullis";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { makeTool } from "../../gate/open-session.ts";

const parts = { sandbox: createMemorySandbox(), approve: () => "later" as const };
const tools = [
  makeTool({ name: "pay", allowedCallers: ["direct", "programmatic"], approval: "always", effect: "write" }),
];

/** A conversation without a driver that waits for its host. */
async function conversation(journal: Journal): Promise<void> {
  await using runtime = await createRuntime({ ...parts, tools, journal });
  await using talk = await runtime.conversation({ model: scriptedModel([{ calls: [{ tool: "pay" }] }]), id: "one" });
  await talk.step("Go.");
}

/** A program without a driver that waits for an approval. */
async function program(journal: Journal): Promise<void> {
  await using runtime = await createRuntime({ ...parts, tools, journal });
  const { outcome } = await runtime.execute("return await tools.pay({});", { id: "one" });
  expect(outcome.type).toBe("waiting");
}

/** An execution that another process ends after it was found or read once. */
async function endedAfter(moment: "find" | "read", begin: (journal: Journal) => Promise<void>): Promise<Journal> {
  const journal = createMemoryJournal();
  await begin(journal);
  let isOver = false;
  const end = async () => {
    if (isOver) return;
    isOver = true;
    const { records, startedAt } = await journal.find("one");
    await journal.append("one", records, [{ type: "outcome", outcome: '{"type":"cancelled"}', at: startedAt + 7 }]);
  };
  return {
    ...journal,
    find: async (execution) => {
      const found = await journal.find(execution);
      if (moment === "find") await end();
      return found;
    },
    async *read(...asked) {
      yield* journal.read(...asked);
      if (moment === "read") await end();
    },
  };
}

const ENDED = { state: "ended", outcome: "cancelled", ms: 7, waitsFor: [], driven: false } as const;

test.each([
  ["conversation", "find", conversation, { ...ENDED, records: 5 }],
  ["conversation", "read", conversation, { state: "waiting", waitsFor: ["pay"], records: 4 }],
  ["program", "find", program, ENDED],
  ["program", "read", program, { state: "waiting", waitsFor: ["pay"] }],
] as const)("a %s that ends after a %s is told of by one reading", async (_, moment, begin, listed) => {
  await using runtime = await createRuntime({ ...parts, tools, journal: await endedAfter(moment, begin) });
  const status = await runtime.execution("one").status();
  expect(status.listed).toMatchObject(listed);
  expect(status.listed.outcome).toBe(listed.state === "ended" ? "cancelled" : undefined);
  const { type } = status.conversation?.ending ?? status.report?.outcome ?? {};
  expect(type).toBe(listed.state === "ended" ? "cancelled" : "waiting");
});
