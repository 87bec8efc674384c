import { trace } from "@opentelemetry/api";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createServer } from "../../../src/serve/create-server.ts";
import { parseTraceParent } from "../../../src/gate/telemetry/otel.ts";
import { withTraceparent } from "../../../src/gate/telemetry/with-traceparent.ts";
import { record, type Recording } from "./recording.ts";
import { runtimeWith } from "../../support/runtime.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const GOOD = `00-${TRACE}-${SPAN}-01`;
const headers = (traceparent: string) => new Headers({ traceparent });

let recording: Recording;
beforeEach(() => {
  recording = record();
});
afterEach(() => recording.stop());

test("executions of a request are below its span, and an invalid header fails no request", async () => {
  await using runtime = await runtimeWith([]);
  const server = await createServer(runtime);
  const post = (traceparent: string) =>
    server.fetch(
      new Request("http://127.0.0.1/v1/executions", {
        method: "POST",
        headers: {
          authorization: `Bearer ${server.token}`,
          "content-type": "application/json",
          host: "127.0.0.1",
          traceparent,
        },
        body: JSON.stringify({ program: "return 1" }),
      }),
    );
  expect((await post(GOOD)).status).toBe(200);
  expect(recording.span("execute_tool run_program").parentSpanContext?.spanId).toBe(SPAN);
  expect((await post("\u00ff--")).status).toBe(200);
  expect(recording.spans().at(-1)?.parentSpanContext).toBeUndefined();
  await server.close();
});

test("the span of an instrumented server stays the parent", async () => {
  await using runtime = await runtimeWith([]);
  await trace.getTracer("http").startActiveSpan("POST", async (span) => {
    await withTraceparent(headers(GOOD), () => runtime.execute("return 1"));
    span.end();
  });
  const { parentSpanContext } = recording.span("execute_tool run_program");
  expect(parentSpanContext?.spanId).toBe(recording.span("POST").spanContext().spanId);
});

test.each(["", "00", GOOD.toUpperCase(), `${GOOD}-more`, `ff${GOOD.slice(2)}`, `00-${"0".repeat(32)}-${SPAN}-01`])(
  "a header that is none (%s) is left aside",
  async (header) => {
    expect(parseTraceParent(header)).toBeUndefined();
    await withTraceparent(headers(header), async () => {
      expect(trace.getActiveSpan()).toBeUndefined();
    });
  },
);

test("work without an SDK runs as it is, and its errors are its own", async () => {
  await recording.stop();
  expect(await withTraceparent(headers(GOOD), async () => 7)).toBe(7);
  recording = record();
  await expect(withTraceparent(headers(GOOD), () => Promise.reject(new Error("own")))).rejects.toThrow("own");
});
