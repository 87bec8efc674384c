import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { createServer } from "../../src/serve/index.ts";
import { Metrics } from "../../src/serve/metrics.ts";
import { FIGURES } from "../../src/gate/telemetry/metric-table.ts";
import { prometheusName } from "../../src/gate/telemetry/prometheus.ts";
import { telemetrySwitch } from "../../src/gate/telemetry/sdk-switch.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { echo } from "../support/tools.ts";
import { record } from "../gate/telemetry/recording.ts";
import { KEYS, keyOf, openServer } from "./servers.ts";

const telemetry = telemetrySwitch({ captures: undefined, redactor: undefined, onMissing: () => {} });

test("a server that is refused leaves no metrics behind, to which each runtime of the process would tell its figures", async () => {
  await using runtime = await createRuntime({ tools: [echo], sandbox: createMemorySandbox() });
  // Other files of the process may have metrics of their own.
  const before = telemetry.now;
  await expect(createServer(runtime, { keys: '{ "keys": [] }' })).rejects.toMatchObject({ code: "option_invalid" });
  expect(telemetry.now).toBe(before);
});

const ENDED = 'portcullis_executions_total{portcullis_kind="run_program",portcullis_outcome="completed"}';

test("running and queued programs, ended programs and calls are counted", async () => {
  await using door = await openServer({ keys: KEYS }, { executions: { concurrency: 1 } });
  const metrics = async () => (await door.ask("GET", "/metrics", { key: keyOf("ops") })).text.split("\n");
  const begin = (program: string) => door.run({ program });
  const first = begin("return await tools.crm.slow({})");
  await door.slow.begun();
  const second = begin("await tools.crm.find({}); throw new Error('no')");
  await expect.poll(metrics).toContain("portcullis_waiting 1");
  expect(await metrics()).toContain("portcullis_running 1");
  door.slow.release();
  await Promise.all([first, second]);
  expect(await metrics()).toEqual(
    expect.arrayContaining([
      "portcullis_running 0",
      "portcullis_waiting 0",
      `${ENDED} 1`,
      'portcullis_executions_total{portcullis_kind="run_program",portcullis_outcome="failed",error_type="program_failed"} 1',
      'portcullis_calls_total{gen_ai_tool_name="crm.find",portcullis_outcome="value"} 1',
      'portcullis_calls_total{gen_ai_tool_name="crm.slow",portcullis_outcome="value"} 1',
      `portcullis_fetched_bytes_total{gen_ai_tool_name="crm.find"} ${'[{"id":1}]'.length}`,
    ]),
  );
});

test("times of requests are counted in each bucket from theirs on", () => {
  using metrics = new Metrics();
  for (const ms of [1, 8, 70_000]) metrics.request("/a", "GET", 200, ms);
  const name = "http_server_request_duration_seconds";
  const about = 'http_request_method="GET",http_route="/a",http_response_status_code="200"';
  const lines = metrics.text().split("\n");
  for (const [bound, count] of Object.entries({ 0.005: 1, 0.01: 2, 10: 2, "+Inf": 3 }))
    expect(lines).toContain(`${name}_bucket{${about},le="${bound}"} ${count}`);
  expect(lines).toContain(`${name}_count{${about}} 3`);
  expect(lines).toContain(`${name}_sum{${about}} 70.009`);
});

test("of one metric 500 series are told apart, the others are counted as one", () => {
  using metrics = new Metrics();
  for (let n = 0; n < 600; n += 1) metrics.request(`/${n}`, "GET", 200, 1);
  const lines = metrics.text().split("\n");
  expect(lines).toContain('http_server_request_duration_seconds_count{otel_metric_overflow="true"} 100');
});

test("a server that is closed counts nothing more", async () => {
  const metrics = new Metrics();
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  await runtime.execute("return 1");
  metrics[Symbol.dispose]();
  await runtime.execute("return 1");
  expect(metrics.text()).toContain(`${ENDED} 1`);
});

test("what a runtime does for its host is counted too, also if OpenTelemetry is told nothing", async () => {
  using metrics = new Metrics();
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox(), telemetry: false });
  await runtime.execute("return 1");
  await runtime.agent({ model: scriptedModel([{ text: "done" }]), task: "t" });
  expect(metrics.text().split("\n")).toEqual(
    expect.arrayContaining([
      `${ENDED} 1`,
      'portcullis_executions_total{portcullis_kind="invoke_agent",portcullis_outcome="answered"} 1',
    ]),
  );
});

/** A line of `/metrics` without its number, and the number. */
const told = (line: string) => line.split(/ (?=[^ ]*$)/) as [string, string];

test("OpenTelemetry and /metrics tell the same numbers under the same names and labels", async () => {
  using metrics = new Metrics();
  const recording = record();
  await using runtime = await createRuntime({ tools: [echo], sandbox: createMemorySandbox() });
  await runtime.execute('await tools.echo({ a: "\\"\\n" }); await tools.none({}).catch(() => {}); return 1;');
  await runtime.execute("throw new Error('no')");
  await runtime.call({ tool: "echo", input: {}, caller: "programmatic" });
  const usage = { inputTokens: 40, outputTokens: 2 };
  await runtime.agent({
    model: scriptedModel([{ programs: ["return await tools.echo({});"] }, { text: "done", usage }]),
    task: "t",
  });
  const lines = new Map(metrics.text().split("\n").map(told));
  let compared = 0;
  for (const { name, unit, bounds } of Object.values(FIGURES)) {
    const base = prometheusName({ name, unit });
    for (const { attributes, value } of await recording.points(name)) {
      const labels = Object.entries(attributes).map(([label, text]) => `${label.replaceAll(".", "_")}="${text}"`);
      const series = labels.length === 0 ? "" : `{${labels.join(",")}}`;
      const { count, sum } = (bounds ? value : { sum: value }) as { readonly count?: number; readonly sum: number };
      expect(Number(lines.get(`${base}${bounds ? "_sum" : "_total"}${series}`)), name + series).toBeCloseTo(sum, 9);
      if (count !== undefined) expect(lines.get(`${base}_count${series}`), name + series).toBe(String(count));
      compared += 1;
    }
  }
  const series = [...lines.keys()].filter((line) => /_total|_count/.test(line) && !line.startsWith("#"));
  expect(compared).toBe(series.length);
  expect(compared).toBeGreaterThan(12);
  await recording.stop();
});
