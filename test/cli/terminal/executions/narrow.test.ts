import { expect, test } from "vitest";
import { createRuntime } from "../../../../src/index.ts";
import { createMemoryJournal } from "../../../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/testing.ts";
import { executionFrame, executionText } from "../../../../src/cli/terminal/executions/execution-text.ts";
import { listFrame, listLines } from "../../../../src/cli/terminal/executions/list-text.ts";
import { widthOf } from "../../../../src/cli/terminal/one-line.ts";
import { listView } from "../../../../src/views/list/list-view.ts";
import { viewExecution } from "../../../../src/views/view-execution.ts";
import { tool } from "../../../support/tools.ts";
import { pay } from "../../../telemetry/fixtures/pay.ts";

/** Executions of every kind and state that `show` and `watch` have. */
async function executionsOf() {
  const journal = createMemoryJournal();
  const orders = tool("warehouse.orders", () => ({ orders: Array.from({ length: 40 }, (_, id) => ({ id })) }));
  await using runtime = await createRuntime({
    tools: [orders, pay],
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
  });
  const program = `// Reads all orders of the warehouse, and counts those that were not paid until now.
const all = await tools.warehouse.orders({ region: "Europe", status: "unpaid", since: "2026-01-01" });
console.log("the first of them is", all.orders[0], "and there are further ones behind it, which follow later");
return { count: all.orders.length, text: "a sentence that is longer than any narrow terminal is wide, by far" };`;
  await runtime.execute(program);
  await runtime.execute(program.replace("return", "throw"));
  const { execution } = await runtime.execute(program.replace("return", "await tools.pay({});\nreturn"));
  await runtime.decide(execution, {
    2: { allow: true, by: "a person of the office", note: "the customer has called twice" },
  });
  await journal.lack?.(execution, { what: "tools", names: ["warehouse.orders", "pay"] });
  await runtime.execute(`await Promise.all(Array.from({ length: 30 }, () => tools.pay({})));`);
  const model = scriptedModel([
    { calls: [{ tool: "run_program", input: { code: program } }] },
    { text: "There are forty orders that were not paid, as far as the warehouse knows." },
  ]);
  await runtime.agent({ model, task: "Which orders were not paid until now, and why is that?" });
  const { executions } = await listView(journal);
  return { executions, views: await Promise.all(executions.map(({ execution: id }) => viewExecution(journal, id))) };
}

const SAME = { journal: "./portcullis.db", tools: "./tools.ts" };
/** What may be broken: an id, a path, or what has no letters on one side. */
const WORDS = /^[a-z]{3,}$/i;

test.each([40, 60, 80])(
  "on a terminal of %i columns no line of show and watch is wider, and no word is broken",
  async (columns) => {
    const { executions, views } = await executionsOf();
    const as = { columns, isPlain: false };
    const texts = [
      ...views.map((view) => executionText(view, SAME, as)),
      ...views.flatMap((view) => [10, 24, 60].map((rows) => executionFrame(view, rows, SAME, as).join("\n"))),
      listLines(executions, columns).join("\n"),
      listFrame(executions, 24, columns).join("\n"),
    ];
    const wide = { columns: 2000, isPlain: false };
    const known = new Set(
      [...views.map((view) => executionText(view, SAME, wide)), ...listLines(executions)]
        .join("\n")
        .match(/[a-z]{3,}/gi),
    );
    for (const word of ["earlier", "more", "lines"]) known.add(word);
    for (const text of texts)
      for (const line of text.split("\n")) {
        expect([line, widthOf(line) <= columns]).toEqual([line, true]);
        for (const word of line.split(/[^a-z…]+/i)) if (WORDS.test(word)) expect(known).toContain(word);
      }
  },
);

test("a frame has no more lines than the terminal, also if they are folded", async () => {
  const { executions, views } = await executionsOf();
  for (const rows of [10, 24])
    for (const columns of [40, 60, 80]) {
      for (const view of views)
        expect(executionFrame(view, rows, SAME, { columns, isPlain: false }).length).toBeLessThanOrEqual(rows);
      expect(listFrame(executions, rows, columns).length).toBeLessThanOrEqual(rows);
    }
});
