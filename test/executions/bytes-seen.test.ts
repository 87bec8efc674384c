import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { runtimeWith } from "../support/runtime.ts";

const common = {
  description: "d",
  inputSchema: z.object({}),
  effect: "read",
  allowedCallers: ["programmatic"],
} as const;
const ROW = JSON.stringify({ name: "Ünal" });

const tools = [
  defineTool({ ...common, name: "row", execute: () => JSON.parse(ROW) as unknown }),
  defineTool({ ...common, name: "text", execute: () => "x".repeat(1000) }),
  defineTool({ ...common, name: "fail", execute: () => Promise.reject(new Error("a long message".repeat(20))) }),
  defineTool({ ...common, name: "ask", effect: "write", approval: "always", execute: () => 12 }),
];

test("a report counts the bytes of results that the program was handed: no failure, and none that came after its end", async () => {
  await using runtime = await runtimeWith(tools);
  const { usage, outcome } = await runtime.execute(`
    await tools.row();
    await tools.row();
    await tools.fail().catch(() => {});
    void tools.text();
    return 1;`);
  expect(outcome.type).toBe("completed");
  expect(usage.bytesSeen).toBe(2 * Buffer.byteLength(ROW));
  expect(usage.bytesIn).toBeGreaterThanOrEqual(usage.bytesSeen);
});

test("what another driver had handed to the program counts too, once, and an ended execution tells the same", async () => {
  const journal = createMemoryJournal();
  const open = () => runtimeWith(tools, { journal, approve: () => "later" as const });
  const program = "await tools.row(); await tools.ask(); return (await tools.row()).name;";
  const ids: string[] = [];
  {
    await using first = await open();
    const { execution, outcome, usage } = await first.execute(program);
    expect([outcome.type, usage.bytesSeen]).toEqual(["waiting", Buffer.byteLength(ROW)]);
    ids.push(execution);
  }
  await using second = await open();
  const [execution = ""] = ids;
  const { usage } = await second.execution(execution).resume({ decisions: { 2: { allow: true } } });
  expect(usage.bytesSeen).toBe(2 * Buffer.byteLength(ROW) + "12".length);
  expect((await second.execution(execution).resume()).usage.bytesSeen).toBe(usage.bytesSeen);
});
