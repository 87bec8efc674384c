import { expect, test } from "vitest";
import { callRows } from "../../../src/serve/views/call-groups.ts";
import type { CallView } from "../../../src/serve/views/view.ts";

const callView = (id: number, more: Partial<CallView> = {}): CallView => ({
  id: `${id}`,
  tool: "crm.find",
  caller: "programmatic",
  state: "value",
  detail: "object",
  at: id,
  ms: 1,
  input: { text: "{}", bytes: 2 },
  bytes: 10,
  started: true,
  ...more,
});

const some = (number: number, more: Partial<CallView> = {}, from = 0) =>
  Array.from({ length: number }, (_, index) => callView(from + index, more));

test("twelve equal calls are one row with their sums, and eleven are eleven rows", () => {
  const [row, ...others] = callRows(some(12), new Set());
  expect(others).toEqual([]);
  expect(row).toMatchObject({
    type: "group",
    group: { tool: "crm.find", state: "value", took: { inAll: 12 }, bytes: 120 },
  });
  expect(callRows(some(11), new Set())).toHaveLength(11);
});

test("a group of calls that have not ended has no time yet", () => {
  const [row] = callRows(some(12, { state: "open", ms: undefined as never }), new Set());
  expect(row?.type === "group" && row.group.took).toBeUndefined();
});

test("calls of one tool that failed with another code, or still run, are no equal calls", () => {
  const calls = [
    ...some(12),
    ...some(12, { state: "failed", detail: "handler_failed" }, 20),
    ...some(12, { state: "failed", detail: "handler_timed_out" }, 40),
    callView(60, { state: "open" }),
  ];
  const rows = callRows(calls, new Set());
  expect(rows.map(({ type }) => type)).toEqual(["group", "group", "group", "call"]);
});

test("a group that is open has its calls below it", () => {
  const [group] = callRows(some(12), new Set());
  const open = callRows(some(12), new Set(group?.type === "group" ? [group.group.key] : []));
  expect(open).toHaveLength(13);
  expect(open[1]).toMatchObject({ type: "call", level: 2 });
});

test("rows stand in the order in which their first calls were made", () => {
  const calls = [callView(1, { tool: "a" }), ...some(12, {}, 2), callView(20, { tool: "b" })];
  const names = callRows(calls, new Set()).map((row) => (row.type === "call" ? row.call.tool : row.group.tool));
  expect(names).toEqual(["a", "crm.find", "b"]);
});
