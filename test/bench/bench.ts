/*
 * `make bench`: what the runtime costs, each figure beside its floor in the same run: the same program as a function in
 * this very process, without isolation.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { createRuntime, defineTool, type Runtime } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { checkRows } from "./check-rows.ts";
import type { Row } from "./row.ts";
import { dockerRows } from "./docker-rows.ts";
import { durableRows } from "./durable-rows.ts";
import { searchRows } from "./search-rows.ts";
import { serveRows } from "./serve-rows.ts";
import { median, medianOf, peakMemory, perSecond, timed, treeMemory } from "./measure.js";
import { figure, markdown } from "./table.js";
import { answers, CALLS, programs, tools as handlers } from "./workloads.js";

type Name = keyof typeof programs;

const tools = Object.entries(handlers).map(([name, handler]) =>
  defineTool({
    name,
    description: name,
    inputSchema: z.looseObject({}),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: handler as (input: unknown) => unknown,
  }),
);
const AsyncFunction = (async () => {}).constructor as new (
  parameter: string,
  body: string,
) => (given: unknown) => Promise<unknown>;
const named = (tool: string) => `tools.${tool}`;

const rows: string[][] = [];
const row: Row = (what, value, unit, floor, aim) => {
  rows.push([what, `${figure(value)} ${unit}`, floor === undefined ? "" : `${figure(floor)} ${unit}`, aim]);
  process.stderr.write(`${what}: ${figure(value)} ${unit}\n`);
};

async function run(runtime: Runtime, name: Name): Promise<void> {
  const { outcome } = await runtime.execute(programs[name](named));
  const answer = (answers as Partial<Record<Name, unknown>>)[name];
  if (outcome.type !== "completed" || (answer !== undefined && outcome.value !== answer))
    throw new Error(`${name}: ${JSON.stringify(outcome)}`);
}

/** The same program without isolation. */
async function floor(name: Name): Promise<void> {
  await new AsyncFunction("tools", programs[name](named))(handlers);
}

const sandbox = createIsolateSandbox();
await using runtime = await createRuntime({ tools, sandbox });
const ready = async () => {
  while (sandbox.pool.counts.idle < 2) await new Promise((resolve) => setImmediate(resolve));
};

// As much as a server has run before anybody looks: everything is compiled, on both sides of the bridge.
for (let round = 0; round < 20; round += 1) {
  await run(runtime, "awaited");
  await run(runtime, "atOnce");
}

/** A program in the runtime, beside the same without isolation. `calls`: the figures are microseconds of one of them. */
async function beside(what: string, name: Name, count: number, warmUp: number, aim: string, calls?: number) {
  const before = name === "start" ? ready : undefined;
  const times = [
    await medianOf(() => run(runtime, name), { count, warmUp, before }),
    await medianOf(() => floor(name), { count, warmUp }),
  ];
  const [own = NaN, bare] = times.map((ms) => (calls === undefined ? ms : (ms * 1000) / calls));
  row(what, own, calls === undefined ? "ms" : "µs", bare, aim);
}

await beside("start to end of `return 1 + 1`, an engine ready", "start", 200, 50, "≤ 1 ms");
const unready = await medianOf(() => run(runtime, "start"), { count: 200, warmUp: 50 });
row("the same, one after the other", unready, "ms", undefined, "");
await beside("one of 1,000 awaited calls", "awaited", 15, 3, "≤ 70 µs", CALLS);
await beside("1,000 calls in `Promise.all`", "atOnce", 15, 3, "≤ 10 ms");
await beside("50 calls of a 20 ms tool in `Promise.all`", "slowAtOnce", 7, 1, "≤ 30 ms");

await serveRows(row, runtime, ready);

handlers.orders();
handlers.customers();
await beside("join of two results of 10 MB", "join", 7, 1, "≤ 250 ms");
await beside("3 million steps of arithmetic", "compute", 7, 1, "");

const { execution } = await runtime.execute(programs.awaited(named));
const replay = () => runtime.execution(execution).replay();
const replayMs = await medianOf(replay, { count: 11, warmUp: 2, before: ready });
row("replay of a journal of 1,000 calls", replayMs, "ms", undefined, "≤ 25 ms");

const rateOf = (of: Runtime) => perSecond(() => run(of, "oneCall"), { wide: 8, seconds: 5 });
const rate = await rateOf(runtime);
row("programs of one call a second, 8 wide, engines used again", rate, "/s", undefined, "≥ 900 /s");
{
  const fresh = createIsolateSandbox({ reuseEngines: "never", warm: 8 });
  await using single = await createRuntime({ tools, sandbox: fresh });
  row("the same, a process for each program", await rateOf(single), "/s", undefined, "");
}

row("100 calls while another program burns a core, against alone", await fairness(), "×", undefined, "≤ 2 ×");
await memory();
await durableRows(row);
await searchRows(row);
await checkRows(row, runtime, ready);
await dockerRows(tools, row);

async function fairness(): Promise<number> {
  const hundred = () => runtime.execute("for (let i = 0; i < 100; i += 1) await tools.ping({ i });");
  const alone = await medianOf(hundred, { count: 15, warmUp: 3 });
  const over = new AbortController();
  const burner = runtime.execute("for (;;) {}", { limits: { cpuMs: 2000 } }).finally(() => over.abort());
  const beside: number[] = [];
  while (!over.signal.aborted) beside.push(await timed(hundred));
  await burner;
  return median(beside.slice(0, -1)) / alone;
}

async function memory(): Promise<void> {
  const script = fileURLToPath(new URL("join-once.js", import.meta.url));
  const child = fork(script);
  const peak = peakMemory(child);
  await once(child, "message");
  row("memory of the whole tree, idle, two engines ready", treeMemory(child.pid), "MB", undefined, "");
  child.send("go");
  row("most memory of the whole tree during the join", await peak, "MB", undefined, "≤ 350 MB");
}

process.stdout.write(
  `${markdown(["", "Portcullis", "floor: the same in this process, no isolation; of searches: plain BM25; of tokens: all stubs", "aim"], rows)}\n\n`,
);
process.stdout.write(
  `node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${new Date().toISOString().slice(0, 10)}; medians\n`,
);
