import { createRuntime } from "portcullis";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { makeTool } from "../gate/open-session.ts";

const parts = { sandbox: createMemorySandbox(), approve: () => "later" as const };
const tools = [makeTool({ name: "pay", allowedCallers: ["direct"] })];

/** A conversation without a driver that waits for its host, and that another process ends after it was found or read once. */
async function endedAfter(moment: "find" | "read"): Promise<Journal> {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ ...parts, tools, journal });
  await using talk = await runtime.converse({ model: scriptedModel([{ calls: [{ tool: "pay" }] }]), execution: "one" });
  await talk.step("Go.");
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

test.each([
  ["find", { state: "ended", outcome: "cancelled", ms: 7, waitsFor: [], driven: false, records: 5 }, "cancelled"],
  ["read", { state: "waiting", waitsFor: ["pay"], records: 4 }, "waiting"],
] as const)("a conversation that ends after a %s is told of by one reading", async (moment, listed, ending) => {
  await using runtime = await createRuntime({ ...parts, tools, journal: await endedAfter(moment) });
  const status = await runtime.status("one");
  expect(status.listed).toMatchObject(listed);
  expect(status.listed.outcome).toBe(listed.state === "ended" ? "cancelled" : undefined);
  expect(status.conversation?.ending?.type).toBe(ending);
});
