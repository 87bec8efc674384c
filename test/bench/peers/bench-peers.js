/*
 * `make bench-peers`: the same workloads for Portcullis, a raw isolated-vm written for speed alone (the floor), and other
 * packages that run programs with tools, all in one run, each in a process of its own. Peers are driven through what executes
 * a program, not through a model's loop, with their limits raised so that the workloads fit. Drivers take turns within each
 * workload, so that what else the machine does meets all of them. ROUNDS repeats everything: figures are medians of rounds,
 * with the range behind them.
 */
import { spawn } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { median, peakMemory, peakShare } from "../measure.js";
import { figure, markdown } from "../table.js";

const FLOOR = "raw-isolated-vm";
const OURS = "portcullis";
const DRIVERS = chosen("DRIVERS", ["native", FLOOR, OURS, "portcullis-never-reused", "utcp", "ai-sdk", "tanstack"]);
const TITLES = {
  loaded: "import to first result, ms",
  start: "start, ms",
  awaited: "an awaited call, µs",
  atOnce: "1,000 at once, ms",
  slowAtOnce: "50 × 20 ms at once, ms",
  join: "10 + 10 MB join, ms",
  compute: "3 M steps, ms",
  wide: "8 wide, programs/s",
  heldUp: "host held up by `for (;;) {}`, ms",
};
const WORKLOADS = chosen("WORKLOADS", Object.keys(TITLES));
const ROUNDS = Number(process.env.ROUNDS || 1);

/** Figures by driver and name, one for each round. */
const results = new Map();
for (let round = 0; round < ROUNDS; round += 1) {
  for (const workload of WORKLOADS) {
    for (const driver of DRIVERS) {
      const { cold, warm, peakMb, shareMb, error } = await measure(driver, workload);
      note(driver, `${workload} cold`, cold);
      note(driver, `${workload} warm`, warm);
      note(driver, `${workload} memory`, peakMb);
      note(driver, `${workload} share`, shareMb);
      process.stderr.write(`${workload} ${driver}: ${error ?? `${figure(cold)} cold, ${figure(warm)} warm`}\n`);
    }
  }
}

/** A part of everything, by an environment variable with names and commas. */
function chosen(variable, all) {
  const names = process.env[variable];
  return names ? names.split(",") : all;
}

function note(driver, name, value) {
  if (value === undefined) return;
  const figures = results.get(`${driver} ${name}`) ?? [];
  results.set(`${driver} ${name}`, [...figures, value]);
}

function middle(driver, name) {
  const figures = results.get(`${driver} ${name}`);
  return figures && median(figures);
}

/** A figure, with the range of several rounds. */
function cell(driver, name) {
  const figures = results.get(`${driver} ${name}`);
  if (!figures) return "–";
  const range = figures.length > 1 ? ` (${figure(Math.min(...figures))}–${figure(Math.max(...figures))})` : "";
  return `${figure(median(figures))}${range}`;
}

function against(name) {
  const floor = middle(FLOOR, name);
  const ours = middle(OURS, name);
  return floor === undefined || ours === undefined ? "–" : `${figure(ours / floor)} ×`;
}

function packageTable(kind) {
  const shown = WORKLOADS.filter((workload) => DRIVERS.some((driver) => results.has(`${driver} ${workload} ${kind}`)));
  const rows = DRIVERS.map((driver) => [driver, ...shown.map((workload) => cell(driver, `${workload} ${kind}`))]);
  return markdown(["", ...shown.map((workload) => TITLES[workload])], rows);
}

const rows = WORKLOADS.flatMap((workload) => {
  const row = (title, kinds) => [
    title,
    ...kinds.flatMap((kind) => [cell(FLOOR, kind), cell(OURS, kind), against(kind)]),
  ];
  const memory = ["join", "wide"].includes(workload)
    ? [
        row(`memory of the tree in ${TITLES[workload].split(",")[0]}, MB: shared pages once`, [
          `${workload} cold share`,
          `${workload} share`,
        ]),
        row("the same: shared pages in each process", [`${workload} cold share`, `${workload} memory`]),
      ]
    : [];
  return [row(TITLES[workload], [`${workload} cold`, `${workload} warm`]), ...memory];
});
const head = ["", "floor, cold", "Portcullis, cold", "against it", "floor, warm", "Portcullis, warm", "against it"];
const sections = [
  ["Against the floor, raw isolated-vm without a process of its own", markdown(head, rows)],
  ["All packages, warm", packageTable("warm")],
  ["All packages, the first run of a process", packageTable("cold")],
];
for (const [title, table] of sections) process.stdout.write(`${title}:\n\n${table}\n\n`);
process.stdout.write(
  `node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${new Date().toISOString().slice(0, 10)}, ${ROUNDS} rounds; medians. – : it failed, did not end, or has no such figure\n`,
);

/** One driver, one workload, one process: what it reports, and the most memory its tree took. */
function measure(driver, workload) {
  return new Promise((resolve) => {
    const script = fileURLToPath(new URL("measure-one.js", import.meta.url));
    const child = spawn(process.execPath, ["--no-node-snapshot", script, driver, workload], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let reported = {};
    let complaint = "";
    const peaks = Promise.all([peakMemory(child), peakShare(child)]);
    const patience = setTimeout(() => child.kill("SIGKILL"), 30_000);
    child.stderr.on("data", (chunk) => {
      complaint = (complaint + chunk).slice(-300);
    });
    child.on("message", (message) => {
      reported = message;
    });
    void peaks.then(([peakMb, shareMb]) => {
      clearTimeout(patience);
      const isSilent = reported.cold === undefined && reported.warm === undefined;
      const error = reported.error ?? (isSilent ? `no figure: ${complaint}` : undefined);
      // The memory of what failed, or was ended early, says nothing.
      resolve(error === undefined ? { ...reported, peakMb, shareMb } : { error });
    });
  });
}
