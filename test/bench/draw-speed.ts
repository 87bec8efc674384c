/** Draws `speed.svg` from the table of other packages in docs/performance.md: `node test/bench/draw-speed.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TopLevelSpec } from "vega-lite";
import { svgOf } from "./svg.ts";

const DOCUMENT = join(import.meta.dirname, "../../docs/performance.md");
const PICTURE = join(import.meta.dirname, "speed.svg");

/** Milliseconds in one of the unit that a column's title ends with. Columns without a time are not drawn. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, µs: 0.001 };
const COLORS = ["#9ca3af", "#f59e0b", "#1d4ed8", "#93c5fd", "#dc2626", "#059669", "#7c3aed"];

/** The picture of a document's table behind `<!-- peers -->`. Of a cell it takes the median, not the range behind it. Throws where there is no such table or a cell has no number. */
export async function speedPicture(document: string): Promise<string> {
  const [head = [], , ...rows] = tableBehind("peers", document);
  const titles = head.flatMap((title, column) => {
    const [, name = "", unit = ""] = /^(.*), (\S+)$/.exec(title) ?? [];
    const milliseconds = UNITS[unit];
    return milliseconds === undefined ? [] : [{ column, name, milliseconds }];
  });
  const values = rows.flatMap((cells) =>
    titles.map(({ column, name, milliseconds }) => ({
      package: (cells[0] ?? "").replaceAll("`", ""),
      workload: name,
      ms: numberIn(cells[column] ?? "") * milliseconds,
    })),
  );
  const packages = [...new Set(values.map((value) => value.package))];
  const spec: TopLevelSpec = {
    title: { text: "Times of the same workloads, by package", subtitle: "milliseconds, on a logarithmic scale" },
    width: 560,
    height: { step: 34 },
    data: { values },
    mark: { type: "point", filled: true, size: 80, opacity: 0.9 },
    encoding: {
      y: {
        field: "workload",
        type: "nominal",
        title: null,
        sort: titles.map(({ name }) => name),
        axis: { grid: true, labelLimit: 200 },
      },
      x: {
        field: "ms",
        type: "quantitative",
        scale: { type: "log" },
        title: "ms",
        axis: { values: [1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1e3, 1e4], format: "~f" },
      },
      color: {
        field: "package",
        type: "nominal",
        title: null,
        scale: { domain: packages, range: COLORS.slice(0, packages.length) },
        legend: { columns: 2, labelLimit: 0 },
      },
    },
  };
  return svgOf(spec);
}

/** Rows of cells, the head and the line under it included. */
function tableBehind(marker: string, document: string): string[][] {
  const [, table] = new RegExp(`<!-- ${marker} -->\\n\\n((?:\\|.*\\n)+)`).exec(document) ?? [];
  if (table === undefined) throw new Error(`There is no table behind <!-- ${marker} -->.`);
  return table
    .trimEnd()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

function numberIn(cell: string): number {
  const [median = ""] = cell.split(" ", 1);
  const number = Number(median.replaceAll(",", ""));
  if (median === "" || Number.isNaN(number)) throw new Error(`${JSON.stringify(cell)} is no number.`);
  return number;
}

if (import.meta.main) writeFileSync(PICTURE, await speedPicture(readFileSync(DOCUMENT, "utf8")));
