import { metrics } from "@opentelemetry/api";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { record, type Recording } from "./recording.ts";
import { makeTool, runtimeWith } from "../../support/index.ts";

let recording: Recording;
beforeEach(() => {
  recording = record();
});
afterEach(() => recording.stop());

const echo = makeTool({
  name: "echo",
  inputSchema: z.object({ text: z.string() }),
  allowedCallers: ["programmatic", "direct"],
  execute: ({ text }) => text,
});

/** Another provider of meters, which counts the callbacks of its gauges. */
function counted() {
  let callbacks = 0;
  metrics.disable();
  const meters = new MeterProvider();
  metrics.setGlobalMeterProvider({
    getMeter: (name) => {
      const meter = meters.getMeter(name);
      const make = meter.createObservableGauge.bind(meter);
      meter.createObservableGauge = (...args) => {
        const gauge = make(...args);
        const add = gauge.addCallback.bind(gauge);
        gauge.addCallback = (callback) => {
          callbacks += 1;
          add(callback);
        };
        return gauge;
      };
      return meter;
    },
  });
  return { stop: () => meters.shutdown(), gauges: () => callbacks };
}

const totals = async (name: string) =>
  (await recording.points(name)).map(({ attributes, value }) => ({ ...attributes, value }));
const counts = async (name: string) =>
  (await recording.points(name)).map(({ attributes, value }) => ({
    ...attributes,
    count: (value as { readonly count: number }).count,
  }));

test("calls, refusals by code and bytes are counted by tool, and handlers are timed", async () => {
  await using runtime = await runtimeWith([echo]);
  const report = await runtime.execute(
    'await tools.echo({ text: "four" }); await tools.echo({ text: "" }); await tools.echo({}).catch(() => {}); return "out";',
  );
  const tool = { "gen_ai.tool.name": "echo" };
  expect(await totals("portcullis.calls")).toEqual([
    { ...tool, "portcullis.outcome": "value", value: 2 },
    { ...tool, "portcullis.outcome": "refused", "error.type": "input_invalid", value: 1 },
  ]);
  expect(await totals("portcullis.fetched")).toEqual([{ ...tool, value: report.usage.bytesIn }]);
  expect(await totals("portcullis.returned")).toEqual([{ value: report.usage.bytesOut }]);
  expect(await counts("gen_ai.execute_tool.duration")).toContainEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.type": "function",
    ...tool,
    count: 2,
  });
  const ended = { "portcullis.kind": "run_program", "portcullis.outcome": "completed" };
  expect(await totals("portcullis.executions")).toEqual([{ ...ended, value: 1 }]);
  expect(await counts("portcullis.execution.duration")).toEqual([{ ...ended, count: 1 }]);
});

test("load is observed once for each meter provider, however many runtimes there are", async () => {
  const { stop, gauges } = counted();
  await using runtime = await runtimeWith([echo]);
  for (let index = 0; index < 20; index += 1) await runtime.derive({}).execute("return 1");
  expect(gauges()).toBe(4);
  await stop();
});

test("turns of models are timed, and their tokens counted", async () => {
  await using runtime = await runtimeWith([]);
  const model = scriptedModel([{ text: "done", usage: { inputTokens: 40, outputTokens: 2 } }], { name: "gemini:g-3" });
  await runtime.agent({ model, task: "t" });
  const about = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "gcp.gemini",
    "gen_ai.request.model": "g-3",
  };
  expect(await counts("gen_ai.client.operation.duration")).toEqual([{ ...about, count: 1 }]);
  const tokens = (await recording.points("gen_ai.client.token.usage")).map(({ attributes, value }) => ({
    ...attributes,
    sum: (value as { readonly sum: number }).sum,
  }));
  expect(tokens).toEqual([
    { ...about, "gen_ai.token.type": "input", sum: 40 },
    { ...about, "gen_ai.token.type": "output", sum: 2 },
  ]);
});

test("running and waiting work and engines of all runtimes are observed, each engine once", async () => {
  const engines = createIsolateSandbox({ engines: 1, warm: 0 });
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const hold = makeTool({
    name: "hold",
    execute: async () => {
      begun.resolve();
      await release.promise;
      return 1;
    },
  });
  const options = { tools: [hold], sandbox: engines, executions: { concurrency: 1 } } as const;
  {
    await using one = await createRuntime(options);
    await using two = await createRuntime({ ...options, executions: { concurrency: 5 } });
    const running = one.execute("return await tools.hold({});");
    await begun.promise;
    const queued = one.execute("return 2");
    expect(await totals("portcullis.running")).toEqual([{ value: 1 }]);
    expect(await totals("portcullis.waiting")).toEqual([{ value: 1 }]);
    expect(await totals("portcullis.engines")).toEqual([
      { "portcullis.sandbox": "isolate", "portcullis.engine.state": "busy", value: 1 },
      { "portcullis.sandbox": "isolate", "portcullis.engine.state": "idle", value: 0 },
    ]);
    release.resolve();
    await Promise.all([running, queued]);
    expect(two.queue.running).toBe(0);
  }
  await engines[Symbol.asyncDispose]();
  expect(await totals("portcullis.running")).toEqual([{ value: 0 }]);
});

test("items of streams are counted by tool, also of one that was given up", async () => {
  const rows = makeTool({
    name: "rows",
    inputSchema: z.object({ n: z.number() }),
    stream: true,
    execute: ({ n }) => Array.from({ length: n }, (_, id) => id),
  });
  await using runtime = await runtimeWith([rows, echo]);
  const report = await runtime.execute(
    'for await (const row of tools.rows({ n: 2500 })); for await (const row of tools.rows({ n: 3 })) break; await tools.echo({ text: "four" });',
  );
  const items = report.calls.flatMap((call) => call.items ?? []);
  expect(items[0]).toBe(2500);
  const tool = { "gen_ai.tool.name": "rows" };
  expect(await totals("portcullis.streamed")).toEqual([{ ...tool, value: items.reduce((sum, one) => sum + one, 0) }]);
  expect(await totals("portcullis.fetched")).toContainEqual({ ...tool, value: report.usage.bytesIn - 6 });
});
