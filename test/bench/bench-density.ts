/*
 * `make bench-density`: programs that all wait at once, far more of them than engines. Each waits five times for a tool, and
 * is compared with its run alone. PROGRAMS is how many there are, 1,000 by default; ENGINES 8, WAIT_MS 2000, TENANTS 1.
 */
import { z } from "zod";
import { createRuntime, defineTool, type Runtime } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { treeMemory, treeShare } from "./measure.js";
import { markdown } from "./table.js";

const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const PROGRAMS = numberOf("PROGRAMS", 1000);
const ENGINES = numberOf("ENGINES", 8);
const WAIT_MS = numberOf("WAIT_MS", 2000);
const TENANTS = numberOf("TENANTS", 1);
/** Programs that differ are run alone once each. */
const KINDS = 20;
const LOOK_MS = 1000;
/** Counting shared pages once takes the host some 100 ms on a busy machine. */
const SHARE_MS = 5000;

const program = (kind: number) => `let sum = 0;
for (let n = 0; n < 5; n += 1) {
  sum += (await tools.wait({ n: n * ${kind + 1} })).n;
  console.log("step", n, sum);
}
return { kind: ${kind}, sum };`;

function waitTool(ms: number) {
  return defineTool({
    name: "wait",
    description: "Answers later",
    inputSchema: z.object({ n: z.number() }),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: async ({ n }) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return { n: n * 2 };
    },
  });
}

async function run(runtime: Runtime, index: number) {
  const report = await runtime.execute(program(index % KINDS), { tenant: `tenant ${index % TENANTS}` });
  const { outcome, output, logs, notes, remarks, usage } = report;
  const calls = report.calls.map(({ callId, tool, bytes, outcome: end }) => ({ callId, tool, bytes, end: end.type }));
  const counts = [usage.calls, usage.turns, usage.restarts, usage.bytesIn, usage.bytesSeen, usage.bytesOut];
  return { same: JSON.stringify({ outcome, output, logs, notes, remarks, calls, counts }), usage };
}

async function runAlone(): Promise<readonly string[]> {
  await using runtime = await createRuntime({ tools: [waitTool(0)] });
  const alone: string[] = [];
  for (let kind = 0; kind < KINDS; kind += 1) alone.push((await run(runtime, kind)).same);
  return alone;
}

const alone = await runAlone();
await using sandbox = createIsolateSandbox({ engines: ENGINES, queue: Math.max(1000, PROGRAMS) });
await using runtime = await createRuntime({
  tools: [waitTool(WAIT_MS)],
  sandbox,
  limits: { queueMs: 3_600_000 },
});
let peakMb = 0;
let peakShareMb = 0;
let engines = 0;
const looking = setInterval(() => {
  peakMb = Math.max(peakMb, treeMemory());
  engines = Math.max(engines, sandbox.pool.counts.engines);
}, LOOK_MS);
const sharing = setInterval(() => {
  peakShareMb = Math.max(peakShareMb, treeShare());
}, SHARE_MS);
const since = performance.now();
const ran = await Promise.all(Array.from({ length: PROGRAMS }, (_, index) => run(runtime, index)));
const seconds = (performance.now() - since) / 1000;
clearInterval(looking);
clearInterval(sharing);

const equal = ran.filter(({ same }, index) => same === alone[index % KINDS]).length;
const evictions = ran.reduce((sum, { usage }) => sum + usage.evictions, 0);
const processorS = (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
const rows = [
  ["programs, each waiting five times", `${PROGRAMS} × 5 × ${WAIT_MS} ms`, ""],
  ["programs that end as they do alone", `${equal}`, `${PROGRAMS}`],
  ["time until all have ended", `${seconds.toFixed(1)} s`, PROGRAMS === 1000 ? "≤ 20 s" : ""],
  ["engines", `${engines}`, `≤ ${ENGINES}`],
  ["resident memory of the tree of processes, at most", `${peakMb.toFixed(0)} MB`, PROGRAMS === 1000 ? "≤ 700 MB" : ""],
  ["the same with shared pages once", `${peakShareMb.toFixed(0)} MB`, ""],
  ["this process, resident", `${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB`, ""],
  ["processor time of this process", `${processorS.toFixed(1)} s`, ""],
  ["evictions", `${evictions}`, ""],
];
process.stdout.write(`${markdown(["", "Portcullis", "aim"], rows)}\n`);
if (equal !== PROGRAMS || engines > ENGINES) process.exitCode = 1;
