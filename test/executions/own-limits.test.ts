import { expect, test } from "vitest";
import { createRuntime, type Report, type Runtime } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";

import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { viewExecution } from "../../src/serve/views/view-execution.ts";
import { makeTool } from "../gate/open-session.ts";

const source = `await tools.pay({}); return "x".repeat(4000)`;
const tools = [makeTool({ name: "pay", approval: "always", effect: "write" })];

/** Every way by which a report of an execution that waits, and of one that has ended, is asked for. */
const ways: Readonly<Record<string, (runtime: Runtime, id: string) => Promise<Report | undefined>>> = {
  resume: (runtime, id) => runtime.execution(id).resume(),
  "execute again": (runtime, execution) => runtime.execute(source, { id: execution }),
  status: async (runtime, id) => (await runtime.execution(id).status()).report,
  recover: async (runtime, id) => {
    for await (const one of runtime.recover()) if ("output" in one && one.execution === id) return one;
    return undefined;
  },
};

test.each([
  ["smaller", 1000, 100_000],
  ["larger", 100_000, 1000],
])(
  "the value of a program is cut by its own outputBytes, not by those of the runtime that reports it: %s ones",
  async (_, own, others) => {
    for (const [way, report] of Object.entries(ways)) {
      const sandbox = createMemorySandbox();
      const journal = createMemoryJournal();
      const open = (outputBytes: number, approve: () => "later" | true) =>
        createRuntime({ tools, sandbox, journal, approve, limits: { outputBytes } });
      await using first = await open(own, () => "later");
      const { execution } = await first.execute(source);
      await first.execution(execution).decide({ "1": { allow: true } });
      await using second = await open(others, () => "later");
      const ended = way === "status" ? undefined : await report(second, execution);
      if (way === "status") await first.execution(execution).resume();
      const isCut = own < 4000;
      for (const one of [ended, await ways.status?.(second, execution), await ways.resume?.(second, execution)])
        if (one) expect([way, one.output.cut !== undefined, one.outcome.type]).toEqual([way, isCut, "completed"]);
      const { output } = await viewExecution(journal, execution);
      expect((output?.bytes ?? 0) < 4000).toBe(isCut);
    }
  },
);
