/* One driver, one workload: sends the figure to its parent. Arguments: driver, workload. */
import { isDeepStrictEqual } from "node:util";
import { medianOf, perSecond } from "../measure.js";
import { answers, CALLS, programs, tools } from "../workloads.js";

const [driverName, workload] = process.argv.slice(2);
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

const workloads = {
  start: () => medianOf(() => run("start"), { count: 100, warmUp: 20, before: aMoment, withinMs }),
  awaited: async () => ((await medianOf(() => run("awaited"), { count: 15, warmUp: 10, withinMs })) * 1000) / CALLS,
  atOnce: () => medianOf(() => run("atOnce"), { count: 15, warmUp: 10, withinMs }),
  slowAtOnce: () => medianOf(() => run("slowAtOnce"), { count: 5, warmUp: 1, withinMs }),
  join: () => {
    tools.orders();
    tools.customers();
    return medianOf(() => run("join"), { count: 5, warmUp: 1, withinMs });
  },
  compute: () => medianOf(() => run("compute"), { count: 5, warmUp: 1, withinMs }),
  wide: () => perSecond(() => run("oneCall"), { wide: 8, seconds: 5 }),
  heldUp,
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
  process.send({ value: await workloads[workload]() });
} catch (error) {
  process.send({ error: String(error?.message ?? error).slice(0, 300) });
}
await close?.();
process.exit();
