/*
 * `make bench-growth`: whether a unit costs the same, in time and in memory, however many there are: calls of one program,
 * programs of one runtime, tools, executions in a journal. Each size runs in a process of its own, smaller sizes first, and up
 * to 1,000 three times, of which the middle one counts. Processor time is compared, because other work on the machine
 * changes it least. Prints a table and draws `growth.svg`. With GROWTH=full it goes to 100,000 calls, programs and
 * executions, which takes some twenty minutes.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./measure.js";
import { svgOf } from "./svg.ts";
import { figure, markdown } from "./table.js";

const isFull = process.env.GROWTH === "full";
const ONCE = fileURLToPath(new URL("growth-once.ts", import.meta.url));
const PICTURE = join(import.meta.dirname, "growth.svg");

/** The size that others are compared with. */
const BASE = 1000;

interface Kind {
  readonly kind: string;
  /** What there is one, or many, of. */
  readonly unit: string;
  readonly sizes: readonly number[];
}

const KINDS: readonly Kind[] = [
  { kind: "calls", unit: "call of one program", sizes: [10, 100, 1000, 10_000, ...(isFull ? [100_000] : [])] },
  {
    kind: "programs",
    unit: "program of one runtime",
    sizes: [10, 100, 1000, ...(isFull ? [10_000, 100_000] : [5000])],
  },
  { kind: "tools", unit: "tool of a runtime", sizes: [10, 100, 1000, 4000] },
  {
    kind: "journal",
    unit: "execution in a journal in a file",
    sizes: [10, 100, 1000, ...(isFull ? [10_000, 100_000] : [4000])],
  },
];

interface Figures {
  /** Microseconds of one unit, the same of processor time of the host and its engines, and bytes that the host holds for it. */
  readonly us: number;
  readonly processorUs: number;
  readonly bytes: number;
}

async function measure(kind: string, size: number): Promise<Figures> {
  const all: Figures[] = [];
  for (let round = 0; round < (size > BASE ? 1 : 3); round += 1) all.push(await measureOnce(kind, size));
  const middle = (pick: (figures: Figures) => number) => median(all.map(pick));
  return {
    us: middle(({ us }) => us),
    processorUs: middle(({ processorUs }) => processorUs),
    bytes: middle(({ bytes }) => bytes),
  };
}

async function measureOnce(kind: string, size: number): Promise<Figures> {
  const child = fork(ONCE, [kind, String(size)], { execArgv: ["--expose-gc"] });
  const [figures] = (await once(child, "message")) as [Figures];
  return figures;
}

const rows: string[][] = [];
const points: { readonly unit: string; readonly size: number; readonly relative: number }[] = [];
for (const { kind, unit, sizes } of KINDS) {
  let base: Figures | undefined;
  for (const size of sizes) {
    const { us, processorUs, bytes } = await measure(kind, size);
    // Of a few units nothing can be told: what is there once weighs more than they.
    if (size >= BASE) base ??= { us, processorUs, bytes };
    if (base) points.push({ unit, size, relative: processorUs / base.processorUs });
    const against = base && size > BASE ? `${figure(processorUs / base.processorUs)} ×` : "";
    const held = size >= BASE ? `${(Math.max(0, bytes) / 1000).toFixed(2)} kB` : "";
    const times = [`${figure(us)} µs`, `${figure(processorUs)} µs`];
    rows.push([unit, size.toLocaleString("en-US"), ...times, held, against]);
    process.stderr.write(`${unit}, ${size}: ${times.join(", ")} of processor time, ${figure(bytes)} bytes\n`);
  }
}

process.stdout.write(
  `${markdown(["unit", "number", "time of one", "its processor time", "held for one", "processor time against 1,000"], rows)}\n\n`,
);
process.stdout.write(
  `node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${new Date().toISOString().slice(0, 10)}\n`,
);

const picture = await svgOf({
  title: {
    text: "Processor time of one unit, against that where there are 1,000",
    subtitle: "level: the cost does not grow",
  },
  width: 480,
  height: 220,
  data: { values: points },
  mark: { type: "line", point: true },
  encoding: {
    x: { field: "size", type: "quantitative", scale: { type: "log" }, title: "units", axis: { format: "~s" } },
    y: { field: "relative", type: "quantitative", scale: { domain: [0, 2], clamp: true }, title: "times as long" },
    color: { field: "unit", type: "nominal", title: null, legend: { columns: 2, labelLimit: 0 } },
  },
});
writeFileSync(PICTURE, picture);
