/*
 * `make bench-peers`: the same workloads for Portcullis, a raw isolated-vm written for speed alone, and other packages
 * that run programs with tools, all in one run, each in a process of its own. Peers are driven through what executes a
 * program, not through a model's loop, with their limits raised so that the workloads fit.
 */
import { spawn } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { peakMemory } from "../measure.js";
import { figure, markdown } from "../table.js";

const DRIVERS = ["native", "raw-isolated-vm", "portcullis", "portcullis-never-reused", "utcp", "ai-sdk", "tanstack"];
const WORKLOADS = [
  ["start", "start, ms"],
  ["awaited", "an awaited call, µs"],
  ["atOnce", "1,000 at once, ms"],
  ["slowAtOnce", "50 × 20 ms at once, ms"],
  ["join", "10 + 10 MB join, ms"],
  ["joinMemory", "its memory, MB"],
  ["compute", "3 M steps, ms"],
  ["wide", "8 wide, programs/s"],
  ["heldUp", "host held up by `for (;;) {}`, ms"],
];

const only = process.argv.slice(2);
const results = new Map(DRIVERS.map((driver) => [driver, new Map()]));
for (const [workload] of WORKLOADS.filter(([name]) => name !== "joinMemory")) {
  for (const driver of DRIVERS.filter((name) => only.length === 0 || only.includes(name))) {
    const { value, peakMb, error } = await measure(driver, workload);
    results.get(driver).set(workload, value);
    if (workload === "join") results.get(driver).set("joinMemory", peakMb);
    process.stderr.write(`${workload} ${driver}: ${error ?? figure(value)}\n`);
  }
}

const rows = DRIVERS.map((driver) => [
  driver,
  ...WORKLOADS.map(([workload]) => figure(results.get(driver).get(workload))),
]);
process.stdout.write(`${markdown(["", ...WORKLOADS.map(([, title]) => title)], rows)}\n\n`);
process.stdout.write(
  `node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${new Date().toISOString().slice(0, 10)}; medians. – : it failed or did not end\n`,
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
    const peak = peakMemory(child);
    const patience = setTimeout(() => child.kill("SIGKILL"), 30_000);
    child.stderr.on("data", (chunk) => {
      complaint = (complaint + chunk).slice(-300);
    });
    child.on("message", (message) => {
      reported = message;
    });
    void peak.then((peakMb) => {
      clearTimeout(patience);
      resolve({
        ...reported,
        peakMb,
        error: reported.error ?? (reported.value === undefined ? `no figure: ${complaint}` : undefined),
      });
    });
  });
}
