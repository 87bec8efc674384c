/*
 * One driver, one workload: sends its figures to its parent, `cold` of the first run in this process and `warm` of those after
 * it. Arguments: driver, workload.
 */
import { isDeepStrictEqual } from "node:util";
import { medianOf, perSecond, timed } from "../measure.js";
import { answers, CALLS, programs, tools } from "../workloads.js";

const [driverName, workload] = process.argv.slice(2);
const importedAt = performance.now();
const { open } = await import(`./drivers/${driverName}.js`);
const { execute, tool, close } = await open({ tools, timeoutMs: 60_000, memoryMb: 512 });

/** Runs one of the programs and holds it to its answer. */
async function run(name) {
  const value = await execute(programs[name](tool));
  if (name in answers && !isDeepStrictEqual(value, answers[name]))
    throw new Error(`${name}: wrong answer ${JSON.stringify(value)}`);
}

/** A slow driver gets fewer runs, not more time. */
const withinMs = 6000;

/** The first run, and the middle one of those after it. */
async function coldAndWarm(name, options) {
  return { cold: await timed(() => run(name)), warm: await medianOf(() => run(name), { ...options, withinMs }) };
}

const workloads = {
  loaded: async () => {
    await run("start");
    return { cold: performance.now() - importedAt };
  },
  start: () => coldAndWarm("start", { count: 100, warmUp: 20, before: aMoment }),
  awaited: async () => {
    const { cold, warm } = await coldAndWarm("awaited", { count: 15, warmUp: 10 });
    return { cold: (cold * 1000) / CALLS, warm: (warm * 1000) / CALLS };
  },
  atOnce: () => coldAndWarm("atOnce", { count: 15, warmUp: 10 }),
  slowAtOnce: () => coldAndWarm("slowAtOnce", { count: 5, warmUp: 1 }),
  join: () => {
    tools.orders();
    tools.customers();
    return coldAndWarm("join", { count: 5, warmUp: 1 });
  },
  compute: () => coldAndWarm("compute", { count: 5, warmUp: 1 }),
  wide: async () => ({ warm: await perSecond(() => run("oneCall"), { wide: 8, seconds: 5 }) }),
  heldUp: async () => ({ warm: await heldUp() }),
};

/** Longest time that the host's event loop stands still while a program loops for ever, with a limit of two seconds. */
async function heldUp() {
  const limited = await open({ tools, timeoutMs: 2000, memoryMb: 64 });
  const gaps = [];
  let last = performance.now();
  const ticker = setInterval(() => {
    gaps.push(performance.now() - last);
    last = performance.now();
  }, 5);
  const ended = limited.execute("for (;;) {}").catch(() => "stopped");
  const patience = new Promise((resolve) => setTimeout(() => resolve("never ended"), 10_000));
  if ((await Promise.race([ended, patience])) !== "stopped") throw new Error("it was not stopped");
  // The gap that has just ended is told by the next tick only.
  await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(ticker);
  await limited.close?.();
  return Math.max(...gaps);
}

/** Time for whatever is made ready between programs. */
async function aMoment() {
  await new Promise((resolve) => setTimeout(resolve, 5));
}

try {
  process.send(await workloads[workload]());
} catch (error) {
  process.send({ error: String(error?.message ?? error).slice(0, 300) });
}
await close?.();
process.exit();
