import { context, metrics, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterEach, expect, test } from "vitest";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { echo, executed, runtimeWith, throws } from "../../support/index.ts";
import { unregister } from "./recording.ts";

afterEach(unregister);

const fail = throws("the SDK is broken");

/** An object all of whose methods throw, but for those that are given, and the one that ends the test. */
function broken(given: object = {}): never {
  const methods = { ...given, disable: () => {} };
  return new Proxy(methods, { get: (target, name) => Reflect.get(target, name) ?? fail }) as never;
}

const fromTracer = (tracer: object) => trace.setGlobalTracerProvider({ getTracer: () => tracer as never });
const exporter = { export: fail, shutdown: fail, forceFlush: fail };

const WAYS: Readonly<Record<string, () => unknown>> = {
  "a provider that throws": () => trace.setGlobalTracerProvider(broken()),
  "a tracer that throws": () => fromTracer(broken()),
  "spans that throw": () => fromTracer(broken({ startSpan: () => broken() })),
  "spans that say nonsense of themselves": () => {
    const place = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1n };
    const span = {
      spanContext: () => place,
      isRecording: () => "yes",
      setAttributes: () => 7,
      setStatus: () => null,
      end: () => {},
    };
    fromTracer({ startSpan: () => span });
  },
  "spans that reject": () => {
    const reject = () => Promise.reject(new Error("the SDK is broken"));
    fromTracer({
      startSpan: () => ({
        spanContext: reject,
        isRecording: reject,
        setAttributes: reject,
        setStatus: reject,
        end: reject,
      }),
    });
  },
  "a tracer without spans": () => fromTracer({ startSpan: () => undefined }),
  "a processor that throws": () =>
    trace.setGlobalTracerProvider(
      new TracerProvider({ spanProcessors: [{ onStart: fail, onEnd: fail, shutdown: fail, forceFlush: fail }] }),
    ),
  "an exporter that throws": () =>
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })),
  "a context manager that throws": () => {
    trace.setGlobalTracerProvider(new TracerProvider());
    context.setGlobalContextManager(broken());
  },
  "a context manager that throws after the work": () => {
    trace.setGlobalTracerProvider(new TracerProvider());
    context.setGlobalContextManager(broken({ with: (_: unknown, work: () => unknown) => [work(), fail()] }));
  },
  "a meter that throws": () => metrics.setGlobalMeterProvider({ getMeter: () => broken() }),
  "instruments that throw": () => {
    const make = () => broken();
    metrics.setGlobalMeterProvider({
      getMeter: () => broken({ createHistogram: make, createCounter: make, createObservableGauge: make }),
    });
  },
  "instruments that reject": () => {
    const reject = () => Promise.reject(new Error("the SDK is broken"));
    const make = () => ({ record: reject, add: reject, addCallback: reject });
    metrics.setGlobalMeterProvider({
      getMeter: () => ({ createHistogram: make, createCounter: make, createObservableGauge: make }) as never,
    });
  },
};

test.each(Object.keys(WAYS))("%s breaks no execution, no call and no conversation", async (way) => {
  WAYS[way]?.();
  const telemetry = { capture: ["inputs", "results", "programs"] } as const;
  await using runtime = await runtimeWith([echo], { telemetry });
  const program = "return [await tools.echo({ a: 1 }), await tools.echo({ b: 2 })];";
  const value = [{ a: 1 }, { b: 2 }];
  expect((await runtime.execute(program)).outcome).toEqual({ type: "completed", value });
  const called = await runtime.call({ tool: "echo", input: { c: 3 }, caller: "programmatic" });
  expect(called).toEqual({ ok: true, value: { c: 3 } });
  const { ending } = await runtime.agent({
    model: scriptedModel([{ programs: [program] }, { text: "ok" }]),
    task: "t",
  });
  expect(ending).toEqual({ type: "answered", answer: "ok" });
});

test("an instrument that cannot be made silences no other", async () => {
  const counted = new Set<string>();
  const createCounter = (name: string) => ({ add: () => counted.add(name) });
  metrics.setGlobalMeterProvider({ getMeter: () => broken({ createCounter }) });
  await executed([echo], "return tools.echo({ a: 1 });");
  expect([...counted].toSorted()).toEqual([
    "portcullis.calls",
    "portcullis.executions",
    "portcullis.fetched",
    "portcullis.returned",
  ]);
});

test("an SDK that is registered after the runtime was created records from then on, and stops when it is removed", async () => {
  await using runtime = await runtimeWith([echo]);
  await runtime.execute("return 1");
  const kept = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: kept })] }));
  await runtime.execute("return 2");
  expect(kept.getFinishedSpans()).toHaveLength(1);
  unregister();
  const report = await runtime.execute("return 3");
  expect(kept.getFinishedSpans()).toHaveLength(1);
  const [header] = await runtime.execution(report.execution).records();
  expect(header).not.toHaveProperty("trace");
});
