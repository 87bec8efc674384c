import { expect, test, vi } from "vitest";
import { z } from "zod";
import { createSqliteJournal, defineTool, type RuntimeOptions } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { newFile, runtimeWith } from "../support/index.ts";

const FAILURES: readonly (readonly [string, () => never])[] = [
  ["throws", () => outage()],
  ["rejects", (async () => outage()) as () => never],
];
const ABOUT = {
  description: "Does it",
  inputSchema: z.object({}),
  allowedCallers: ["direct", "programmatic"],
} as const;

function outage(): never {
  throw new Error("db down: 10.0.0.7");
}

function durable() {
  return createSqliteJournal({ path: newFile() });
}

function open(options: Partial<RuntimeOptions>) {
  const paid = vi.fn(() => "paid");
  const error = vi.fn();
  const tools = [defineTool({ ...ABOUT, name: "pay", effect: "write", approval: "always", execute: paid })];
  const runtime = runtimeWith(tools, { logger: { error }, ...options });
  return { paid, error, runtime };
}

test.each(FAILURES)(
  "an approver that %s leaves the call to a person where the journal is durable",
  async (_, approve) => {
    using journal = durable();
    const { paid, error, runtime: opening } = open({ approve, journal });
    await using runtime = await opening;
    const report = await runtime.execute("return await tools.pay({});", { id: "e" });
    expect(report.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1", tool: "pay" }] });
    expect(report.output.isError).toBe(false);
    expect(report.output.text).not.toContain("10.0.0.7");
    expect(error.mock.calls).toMatchObject([
      [
        {
          tool: "pay",
          execution: "e",
          code: "waiting",
          err: { code: "callback_failed", cause: { message: "db down: 10.0.0.7" } },
        },
        expect.stringContaining("waits for a decision in call 1") as string,
      ],
    ]);
    const decisions = (await Array.fromAsync(journal.read("e"))).filter(({ type }) => type === "decision");
    expect(decisions).toEqual([]);
    await runtime.execution("e").decide({ 1: { allow: true, by: "ann" } });
    expect((await runtime.execution("e").resume()).outcome).toMatchObject({ type: "completed", value: "paid" });
    const model = scriptedModel([{ calls: [{ tool: "pay", input: {} }] }, { text: "Done." }]);
    const { ending } = await runtime.agent({ model, task: "Pay.", id: "c" });
    expect(ending).toMatchObject({ type: "waiting", approvals: [{ tool: "pay" }] });
    expect(paid).toHaveBeenCalledOnce();
  },
);

test.each(FAILURES)(
  "where nobody can decide later, an approver that %s has the call refused as undecided",
  async (_, approve) => {
    const journal = createMemoryJournal();
    const { paid, error, runtime: opening } = open({ approve, journal });
    await using runtime = await opening;
    const report = await runtime.execute("return await tools.pay({});", { id: "e" });
    expect(report.outcome).toMatchObject({ type: "failed", fault: { code: "approval_unavailable" } });
    expect(JSON.stringify(report)).not.toMatch(/10\.0\.0\.7|denied/);
    expect(error.mock.calls).toMatchObject([
      [{ code: "approval_unavailable", err: { code: "callback_failed" } }, expect.anything()],
    ]);
    expect(paid).not.toHaveBeenCalled();
  },
);

test("a logger, a listener and a switch that reject change nothing, and are handled", async () => {
  const rejects = (async () => outage()) as () => never;
  const tools = [
    defineTool({ ...ABOUT, name: "broken", effect: "read", execute: () => outage() }),
    defineTool({ ...ABOUT, name: "off", effect: "read", enabled: rejects, execute: () => 1 }),
  ];
  await using runtime = await runtimeWith(tools, { onEvent: rejects, logger: { error: rejects, warn: rejects } });
  const { outcome } = await runtime.execute("return tools.broken({}).catch((error) => error.code);");
  expect(outcome).toMatchObject({ type: "completed", value: "handler_failed" });
});
