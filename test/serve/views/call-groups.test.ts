import { expect, test } from "vitest";
import { callView } from "./call-view.ts";
import { callRows } from "../../../src/serve/views/call-groups.ts";
import type { CallView } from "../../../src/serve/views/view.ts";

const some = (number: number, more: Partial<CallView> = {}, from = 0) =>
  Array.from({ length: number }, (_, index) => callView(from + index, more));

test("twelve equal calls are one row with their sums, and eleven are eleven rows", () => {
  const [row, ...others] = callRows(some(12), new Set());
  expect(others).toEqual([]);
  expect(row).toMatchObject({
    type: "group",
    group: { tool: "rows", state: "value", took: { inAll: 12 }, bytes: 120 },
  });
  expect(callRows(some(11), new Set())).toHaveLength(11);
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

test("a group that is open has its calls below it, and rows stand in the order in which their first calls were made", () => {
  const calls = [callView(1, { tool: "a" }), ...some(12, {}, 2), callView(20, { tool: "b" })];
  const rows = callRows(calls, new Set());
  expect(rows.map((row) => (row.type === "call" ? row.call.tool : row.group.tool))).toEqual(["a", "rows", "b"]);
  const open = callRows(calls, new Set(rows.flatMap((row) => (row.type === "group" ? [row.group.key] : []))));
  expect(open).toHaveLength(15);
  expect(open[2]).toMatchObject({ type: "call", level: 2 });
});
