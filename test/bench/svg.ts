import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

/** Readable on a light page and on a dark one. */
const LOOK = {
  background: "white",
  font: "system-ui, sans-serif",
  view: { stroke: null },
  axis: {
    gridColor: "#e5e7eb",
    domainColor: "#9ca3af",
    tickColor: "#9ca3af",
    labelColor: "#374151",
    titleColor: "#111827",
  },
  title: { anchor: "start", color: "#111827", fontSize: 14, subtitleColor: "#374151" },
  legend: { labelColor: "#374151", titleColor: "#111827", orient: "top" },
} as const;

/** A picture as the text of an SVG file. */
export async function svgOf(spec: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile({ config: LOOK, ...spec }).spec), { renderer: "none" });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}
