import { beforeEach, expect, test, vi } from "vitest";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createRuntime, defineTool } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/testing.ts";
import { listView } from "../../../src/views/list/list-view.ts";
import { viewExecution } from "../../../src/views/view-execution.ts";
import { liveDisplay } from "../../../src/cli/terminal/live-display.ts";
import { executionFrame, executionNews } from "../../../src/cli/terminal/executions/execution-text.ts";
import { listFrame, listNews } from "../../../src/cli/terminal/executions/list-text.ts";
import { z } from "zod";
import { tool } from "../../support/tools.ts";
import { pay } from "../../telemetry/fixtures/pay.ts";

beforeEach(() => void vi.stubEnv("TERM", "xterm"));

function displayOf(stream: { readonly isTTY: boolean; readonly rows: number }) {
  let written = "";
  const display = liveDisplay(stream, async (text) => void (written += text));
  return { display, written: () => written };
}

test("a terminal gets frames in place of each other, no longer than its rows, and keeps the last one", () => {
  const { display, written } = displayOf({ isTTY: true, rows: 3 });
  expect(display.rows).toBe(3);
  display.draw(["one", "two\nthree", "four"]);
  expect(written()).toContain("one\u001b[K\r\ntwo\u001b[K\r\n\u001b[J");
  expect(written()).not.toContain("four");
  display.draw(["five"]);
  display[Symbol.dispose]();
  expect(written()).toMatch(/\u001b\[\?1049lfive\n$/);
  expect(written().split("\u001b[?1049h")).toHaveLength(2);
});

test.each([
  ["another stream", { isTTY: false, rows: 0 }, "xterm"],
  ["a terminal that cannot move its cursor", { isTTY: true, rows: 24 }, "dumb"],
])("%s gets lines, and no sequence of a terminal", async (_, stream, term) => {
  vi.stubEnv("TERM", term);
  const { display, written } = displayOf(stream);
  expect(display.rows).toBeUndefined();
  await display.print(["one", "two"]);
  await display.print([]);
  display[Symbol.dispose]();
  expect(written()).toBe("one\ntwo\n");
});

test("frames of an execution and of a list fit on any terminal, and have no sequence of a program's", async () => {
  const journal = createMemoryJournal();
  // Of many equal calls a frame has one row.
  const others = Array.from({ length: 10 }, (_, n) => tool(`echo${n}`, (input) => input));
  await using runtime = await createRuntime({ tools: others, journal, sandbox: createMemorySandbox() });
  const hostile = "\u001b[2J\u202e";
  const program = `console.log(${JSON.stringify(hostile)}); for (let i = 0; i < 100; i++) await tools["echo" + (i % 10)]({ a: ${JSON.stringify(hostile)} }); throw new Error(${JSON.stringify(hostile)});`;
  for (const execution of ["one", `two${hostile}`]) await runtime.execute(program, { execution });
  const view = await viewExecution(journal, `two${hostile}`);
  const { executions } = await listView(journal);
  for (const rows of [1, 5, 10, 24, 500]) {
    const frame = executionFrame(view, rows, {});
    for (const columns of [20, 40, 80, 200]) {
      const drawn = executionFrame(view, rows, {}, { columns, isPlain: true });
      if (rows >= 10) expect(drawn.join("\n").split("\n").length).toBeLessThanOrEqual(rows);
      expect(drawn.join("\n")).toMatch(/^[ -~\n]*$/);
      expect(drawn.join("\n")).toMatch(/\b100 calls made/);
    }
    if (rows >= 10) expect(frame.join("\n").split("\n").length).toBeLessThanOrEqual(rows);
    expect(frame.join("\n")).toMatch(/\b100 calls made, \d/);
    expect([...frame, ...listFrame(executions, rows)].join("")).not.toMatch(/[\u001b\u202e]/);
  }
  expect(executionFrame(view, 24, {}).join("\n")).toMatch(/… \d+ earlier calls/);
  expect(listNews(executions, undefined)).toHaveLength(2);
  expect(listNews(executions, executions)).toEqual([]);
  expect(listNews(executions, undefined).join("")).not.toMatch(/[\u001b\u202e]/);
});

test("of very many calls that wait, those that do not fit on a terminal are counted", async () => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({
    tools: [pay],
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
  });
  const program = "await Promise.all(Array.from({ length: 200 }, () => tools.pay({})));";
  await runtime.execute(program, { execution: "e" });
  const frame = executionFrame(await viewExecution(journal, "e"), 24, {}).join("\n");
  expect(frame.split("\n").length).toBeLessThanOrEqual(24 + 3);
  expect(frame).toMatch(/… 3\d\d more lines/);
});

test("an open stream has a row of a frame, and a line every two seconds", async () => {
  const journal = createMemoryJournal();
  const go = Promise.withResolvers<void>();
  const rows = defineTool({
    name: "rows",
    description: "Gives rows",
    input: z.object({}),
    allowedCallers: ["programmatic"],
    effect: "read",
    stream: true,
    async *handler() {
      for (let id = 0; id < 1200; id += 1) yield id;
      await go.promise;
    },
  });
  await using runtime = await createRuntime({ tools: [rows], journal, sandbox: createMemorySandbox() });
  const running = runtime.execute("for await (const row of tools.rows({}));", { execution: "e" });
  await expect.poll(async () => (await viewExecution(journal, "e")).calls[0]?.items).toBe(1200);
  const view = await viewExecution(journal, "e");
  expect(executionFrame(view, 24, {}).join("\n")).toMatch(/1 +rows +1,200 items so far +4\.8 KiB/);
  const at = Math.ceil(view.lastAt / 2000) * 2000;
  const looks = [0, 500, 1500, 2000, 2500].map((ms) => ({ ...view, lastAt: at + ms }));
  const news = looks.map((look, index) => executionNews(look, looks[index - 1], {}));
  expect(news[0]?.at(-1)).toBe("call 1: rows with {} runs: stream of 1,200 items, 4.8 KiB so far");
  const line = "call 1: rows stream of 1,200 items, 4.8 KiB so far";
  expect(news.slice(1)).toEqual([[], [], [line], []]);
  go.resolve();
  await running;
  const ended = executionNews(await viewExecution(journal, "e"), view, {});
  expect(ended).toContainEqual(expect.stringMatching(/^call 1: rows → stream of 1200, .*4\.8 KiB$/));
});
