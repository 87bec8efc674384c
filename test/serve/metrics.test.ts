import { expect, test } from "vitest";
import { Metrics } from "../../src/serve/metrics.ts";
import { KEYS, keyOf, openServer } from "./servers.ts";

test("running and queued programs, ended programs and calls are counted", async () => {
  await using door = await openServer({ keys: KEYS }, { executions: { atOnce: 1 } });
  const metrics = async () => (await door.ask("GET", "/metrics", { key: keyOf("ops") })).text.split("\n");
  const begin = (program: string) => door.ask("POST", "/v1/executions", { body: { program } });
  const first = begin("return await tools.crm.slow({})");
  await door.slow.begun();
  const second = begin("await tools.crm.find({}); throw new Error('no')");
  await expect.poll(metrics).toContain("portcullis_executions_queued 1");
  expect(await metrics()).toContain("portcullis_executions_running 1");
  door.slow.release();
  await Promise.all([first, second]);
  expect(await metrics()).toEqual(
    expect.arrayContaining([
      "portcullis_executions_running 0",
      "portcullis_executions_queued 0",
      'portcullis_executions_total{outcome="completed"} 1',
      'portcullis_executions_total{outcome="failed"} 1',
      'portcullis_calls_total{outcome="value",code=""} 2',
      `portcullis_tool_bytes_total ${'1[{"id":1}]'.length}`,
    ]),
  );
});

test("times of requests are counted in each bucket from theirs on", () => {
  const metrics = new Metrics([]);
  for (const ms of [1, 3, 70_000]) metrics.request("/a", "GET", 200, ms);
  const name = "portcullis_http_request_seconds";
  const lines = metrics.text().split("\n");
  for (const [bound, count] of [
    ["0.001", 1],
    ["0.005", 2],
    ["60", 2],
    ["+Inf", 3],
  ])
    expect(lines).toContain(`${name}_bucket{route="/a",le="${bound}"} ${count}`);
  expect(lines).toContain(`${name}_count{route="/a"} 3`);
  expect(lines).toContain(`${name}_sum{route="/a"} 70.004`);
});

test("of one counter 500 series are told apart, the others are counted as one", () => {
  const metrics = new Metrics([]);
  for (let n = 0; n < 600; n += 1) metrics.request(`/${n}`, "GET", 200, 1);
  const lines = metrics.text().split("\n");
  expect(lines).toContain('portcullis_http_requests_total{route="other",method="other",status="other"} 100');
});
