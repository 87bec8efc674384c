/*
 * `make bench-telemetry`: what telemetry costs a host, in processor time of its process, for a program of 500 awaited calls.
 * Three runtimes take turns in one process: switched off, on without an SDK, and on with an SDK that keeps nothing.
 * ROUNDS is how often each has its turn, 30 by default.
 */
import { metrics, trace } from "@opentelemetry/api";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { createRuntime, defineTool, type Runtime } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { z } from "zod";
import { median } from "./measure.js";
import { markdown } from "./table.js";

const ROUNDS = Number(process.env["ROUNDS"] ?? 30);
const CALLS = 500;
const PROGRAM = `let sum = 0; for (let n = 0; n < ${CALLS}; n += 1) sum += await tools.echo({ n }); return sum;`;

const echo = defineTool({
  name: "echo",
  description: "Gives back a number",
  input: z.object({ n: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: ({ n }) => n,
});
// Without a process between them, nothing but the host's own work is measured.
const options = { tools: [echo], sandbox: createMemorySandbox() };
await using off = await createRuntime({ ...options, telemetry: false });
await using on = await createRuntime(options);

async function microsecondsOf(runtime: Runtime): Promise<number> {
  const before = process.cpuUsage();
  await runtime.execute(PROGRAM);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

/** Medians of both, and of what one takes against the other in the same round. */
async function compare(one: Runtime, other: Runtime) {
  for (let warm = 0; warm < 5; warm += 1) for (const runtime of [one, other]) await microsecondsOf(runtime);
  const rounds: (readonly [number, number])[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = round % 2 === 0 ? await microsecondsOf(one) : undefined;
    const second = await microsecondsOf(other);
    rounds.push([first ?? (await microsecondsOf(one)), second]);
  }
  const ratios = rounds.map(([first, second]) => second / first).toSorted((a, b) => a - b);
  const at = (share: number) => ratios[Math.floor((ratios.length - 1) * share)] ?? Number.NaN;
  return {
    first: median(rounds.map(([first]) => first)),
    second: median(rounds.map(([, second]) => second)),
    ratio: `${at(0.5).toFixed(2)} × (${at(0.25).toFixed(2)} to ${at(0.75).toFixed(2)})`,
  };
}

const without = await compare(off, on);
trace.setGlobalTracerProvider(new TracerProvider());
metrics.setGlobalMeterProvider(new MeterProvider());
const withSdk = await compare(off, on);
const us = (value: number) => `${value.toFixed(0)} µs`;
const rows = [
  ["telemetry: false", us(without.first), ""],
  ["on, without an SDK", us(without.second), without.ratio],
  ["on, with an SDK that keeps nothing", us(withSdk.second), withSdk.ratio],
];
process.stdout.write(`${markdown(["processor time of a call", "", "against off, in the same round"], rows)}\n`);
