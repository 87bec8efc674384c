/** Draws the picture of a report: `node test/bench/tokens/draw.ts <folder>`, where `report.json` lies. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TopLevelSpec } from "vega-lite";
import type { BenchReport } from "../../../src/comparison/report.ts";
import { svgOf } from "../svg.ts";

const [folder = import.meta.dirname] = process.argv.slice(2);
const report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as BenchReport;

/** Bytes that tools returned, beside those that reached the model. */
function bytes({ comparisons }: BenchReport): TopLevelSpec {
  const rows = comparisons.map(({ task, calls, resultBytes, outputBytes }) => ({
    task: `${task} (${calls.toLocaleString("en-US")} ${calls === 1 ? "call" : "calls"})`,
    returned: resultBytes,
    read: outputBytes,
  }));
  const values = rows.flatMap(({ task, returned, read: toModel }) => [
    { task, bytes: returned, what: "returned by tools" },
    { task, bytes: toModel, what: "read by the model" },
  ]);
  const order = rows.toSorted((one, other) => one.returned - other.returned).map(({ task }) => task);
  const y = {
    field: "task",
    type: "nominal",
    title: null,
    sort: order,
    axis: { labelLimit: 200, grid: true },
  } as const;
  return {
    title: { text: "What tools returned, and what the model read", subtitle: "bytes, on a logarithmic scale" },
    width: 560,
    height: { step: 24 },
    layer: [
      {
        data: { values: rows },
        mark: { type: "rule", color: "#9ca3af" },
        encoding: {
          y: y,
          x: { field: "read", type: "quantitative" },
          x2: { field: "returned" },
        },
      },
      {
        data: { values },
        mark: { type: "point", filled: true, size: 80, opacity: 1 },
        encoding: {
          y: y,
          x: {
            field: "bytes",
            type: "quantitative",
            scale: { type: "log", domainMin: 10 },
            title: "bytes",
            axis: { values: [10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9], format: "~s" },
          },
          color: {
            field: "what",
            type: "nominal",
            title: null,
            scale: { domain: ["returned by tools", "read by the model"], range: ["#dc2626", "#1d4ed8"] },
          },
        },
      },
    ],
  };
}

writeFileSync(join(folder, "bytes.svg"), await svgOf(bytes(report)));
