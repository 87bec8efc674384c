import { expect, test } from "vitest";
import { callTable, funnelLines, legendLines } from "../../../../src/cli/terminal/executions/timeline-text.ts";
import { callRows } from "../../../../src/views/call-groups.ts";
import type { CallView } from "../../../../src/views/view.ts";

const call = (id: string, at: number, ms: number | undefined, more: Partial<CallView> = {}): CallView => ({
  id,
  tool: "crm.find",
  caller: "programmatic",
  state: ms === undefined ? "open" : "value",
  made: 0,
  at,
  ...(ms === undefined ? {} : { ms, detail: "object" }),
  input: { text: "{}", bytes: 2 },
  bytes: 0,
  started: true,
  ...more,
});
const rowsOf = (calls: readonly CallView[]) => callRows(calls, new Set());
const timesOf = (calls: readonly CallView[]) => ({ from: 0, until: 10_000, calls });
const NARROW = { columns: 80, isPlain: false };
/** The bar of each row. */
const barsOf = (calls: readonly CallView[]) =>
  callTable(rowsOf(calls), timesOf(calls), NARROW)
    .slice(2)
    .map((line) => /[█▓░▁-▇].*$/.exec(line)?.[0]);

test("a table of calls has a bar for each, at its place below an axis", () => {
  const calls = [call("1", 0, 5000), call("2", 5000, 5000)];
  const lines = callTable(rowsOf(calls), timesOf(calls), NARROW);
  const [axis = "", marks = "", first = "", second = ""] = lines;
  expect(axis).toMatch(/^call +tool +state +took +size +0 +5 s$/);
  expect(marks.indexOf("┬")).toBe(axis.search(/\b0 /));
  expect(first.indexOf("█")).toBe(axis.search(/\b0 /));
  expect(second.indexOf("█")).toBe(axis.indexOf("5 s"));
  expect(first).toMatch(/^1 +crm\.find +object +5\.00 s +█+$/);
});

test("a call that runs elsewhere says where, and so do many equal ones", () => {
  const calls = Array.from({ length: 20 }, (_, n) => call(`${n}`, 0, 2000, { place: "mcp crm" }));
  const told = (all: readonly CallView[]) => callTable(rowsOf(all), timesOf(all), NARROW)[2];
  expect(told(calls)).toContain("crm.find (mcp crm)");
  expect(told(calls.slice(0, 1))).toContain("crm.find (mcp crm)");
});

test("a wait is drawn as a wait, before the part in which the call ran, and a stream up to now", () => {
  const decision = { decision: "allowed", at: 5000 } as const;
  expect(barsOf([call("1", 0, 10_000, { decision })])[0]).toMatch(/^░+█+$/);
  expect(barsOf([call("1", 0, undefined, { state: "waiting", started: false })])[0]).toMatch(/^░+$/);
  expect(barsOf([call("1", 0, undefined, { items: 5, bytes: 9 })])[0]).toMatch(/^▓+$/);
});

test("a day of waiting leaves room for the seconds of work beside it, and the axis says how long it was", () => {
  const day = 86_400_000;
  const decision = { decision: "allowed", at: day } as const;
  const calls = [call("1", 0, 4000), call("2", 4000, day, { decision })];
  const lines = callTable(rowsOf(calls), { from: 0, until: day + 4000, calls }, NARROW);
  expect(lines[0]).toMatch(/^call .* 0 +2 s .*(?:23 h 59 min|1 d)/);
  expect(lines[1]).toMatch(/┬─+┬.*╌{3,}/);
  expect(lines[2]).toMatch(/ █{6,}$/);
  expect(lines[3]).toMatch(/ ░{3,}█{6,}$/);
});

test("many equal calls are one row, whose bar shows when most of them ran", () => {
  const early = Array.from({ length: 20 }, (_, n) => call(`${n}`, 0, 2000));
  const calls = [...early, call("20", 9000, 1000)];
  const lines = callTable(rowsOf(calls), timesOf(calls), NARROW);
  expect(lines).toHaveLength(3);
  expect(lines[2]).toMatch(/^21× +crm\.find +done +3\.00 s in all +█+ +▁+$/);
});

test("many calls that still run have no time yet", () => {
  const calls = Array.from({ length: 20 }, (_, n) => call(`${n}`, 0, undefined));
  expect(callTable(rowsOf(calls), timesOf(calls), NARROW)[2]).toMatch(/^20× +crm\.find +runs +█+$/);
});

test("what the characters mean is told where there is more than a run", () => {
  const one = [call("1", 0, 1)];
  expect(legendLines(rowsOf(one), timesOf(one))).toEqual([]);
  const calls = [call("1", 0, undefined, { state: "waiting" }), call("2", 0, 1, { items: 3 })];
  expect(legendLines(rowsOf(calls), timesOf(calls))).toEqual([
    "█ runs   ░ waits   ▓ streams   ╌ a pause, drawn shorter",
  ]);
});

test.each([10, 20, 40, 60, 80, 120, 300])("on a terminal of %i columns no line is wider", (columns) => {
  const tool = "a.very.long.name.of.a.tool.".repeat(4);
  const calls = [
    call("1", 0, 5000, { tool, detail: "handler_failed", state: "failed", bytes: 10 ** 9 }),
    call("call-漢漢漢漢漢漢漢漢漢漢/1", 1, undefined, { tool: "漢".repeat(60) }),
  ];
  for (const line of callTable(rowsOf(calls), timesOf(calls), { columns, isPlain: false })) {
    const cells = line.length + line.split("漢").length - 1;
    expect(cells).toBeLessThan(columns);
  }
  const funnel = {
    fetched: { bytes: 10 ** 9, tokens: 10 ** 8, estimated: true as const },
    returned: { bytes: 1, tokens: 1 },
  };
  for (const line of funnelLines(funnel, { columns })) expect(line.length).toBeLessThan(columns);
});

test("a call of an attacker's has no line of its own and controls no terminal", () => {
  const calls = [call("1\n2", 0, 1, { tool: "\u001b[2J\nforged" })];
  const lines = callTable(rowsOf(calls), timesOf(calls), NARROW);
  expect(lines).toHaveLength(3);
  expect(lines.join("")).not.toContain("\u001b");
});

test("the funnel has a bar for each amount, and one that is small is still seen", () => {
  const funnel = {
    fetched: { bytes: 1024 ** 2, tokens: 300_000, estimated: true as const },
    seen: { bytes: 512 * 1024, tokens: 150_000 },
    returned: { bytes: 84, tokens: 21 },
  };
  const lines = funnelLines(funnel, { columns: 80 });
  expect(lines).toEqual([
    expect.stringMatching(/^returned by tools +1 MiB {2}█+ {2}≈ 300,000 tokens$/),
    expect.stringMatching(/^handed to the program +512 KiB {2}█+ +150,000 tokens$/),
    expect.stringMatching(/^given to the model +84 B {2}▏ +21 tokens$/),
  ]);
  const [most = 0, half = 0] = lines.map((line) => line.split("█").length - 1);
  expect(Math.abs(most / 2 - half)).toBeLessThanOrEqual(1);
});
