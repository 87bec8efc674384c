import { expect, test } from "vitest";
import { callView } from "./call-view.ts";
import { callRows } from "../../../src/serve/views/call-groups.ts";
import type { CallView } from "../../../src/serve/views/view.ts";

const some = (number: number, more: Partial<CallView> = {}, from = 0) =>
  Array.from({ length: number }, (_, index) => callView(from + index, more));

test("twelve calls of one tool that stand alike are one row where the first was made, with its calls below once it is open", () => {
  const calls = [
    callView(1, { tool: "a" }),
    ...some(12, {}, 2),
    ...some(11, { state: "open" }, 20),
    ...some(12, { state: "failed", detail: "handler_failed" }, 40),
    ...some(12, { state: "failed", detail: "handler_timed_out" }, 60),
  ];
  const rows = callRows(calls, new Set());
  const groups = rows.flatMap((row) => (row.type === "group" ? [row.group] : []));
  expect(rows.map(({ type }) => type[0]).join("")).toBe("cgcccccccccccgg");
  expect(groups[0]).toMatchObject({ tool: "rows", state: "value", took: { inAll: 12 }, bytes: 120 });
  const open = callRows(calls, new Set([groups[0]?.key ?? ""]));
  expect(open).toHaveLength(rows.length + 12);
  expect(open[2]).toMatchObject({ type: "call", level: 2 });
});
