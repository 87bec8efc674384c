import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, PortcullisError } from "../../../src/index.ts";
import { createMemoryJournal, type Header } from "../../../src/journal/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { anthropicWire } from "../../models/anthropic/wire.ts";
import { serve } from "../../models/wire.ts";
import { agentOf, answered, executed, journalWith, makeTool, runtimeWith } from "../../support/index.ts";
import { pay } from "./fixtures/pay.ts";
import { record, type Recording, tree } from "./recording.ts";

const tracer = () => trace.getTracer("the application");
let recording: Recording;
beforeEach(() => {
  recording = record();
});
afterEach(async () => {
  expect(recording.open()).toEqual([]);
  await recording.stop();
});

/** A tool with a span of its own. */
const STOCK = {
  name: "stock.units",
  description: "Units of an article",
  inputSchema: z.object({ article: z.string() }),
  allowedCallers: ["programmatic", "direct"],
  effect: "read",
  execute: async ({ article }: { readonly article: string }) =>
    tracer().startActiveSpan("SELECT units", async (span) => {
      await Promise.resolve();
      span.end();
      return article.length;
    }),
} as const;
const stock = defineTool(STOCK);

describe("spans of a program", () => {
  test("are below the span of the request, with each call below it and the handler's own span below its call", async () => {
    await using runtime = await runtimeWith([stock], { tenant: "acme" });
    const report = await tracer().startActiveSpan("POST /orders", async (span) => {
      const done = await runtime.execute(
        'return await Promise.all(["a", "bb"].map((article) => tools.stock.units({ article })));',
      );
      span.end();
      return done;
    });
    expect(report.outcome).toEqual({ type: "completed", value: [1, 2] });
    const call = ["execute_tool stock.units", ["SELECT units"]];
    expect(tree(recording.spans())).toEqual([["POST /orders", [["execute_tool run_program", [call, call]]]]]);
    const program = recording.span("execute_tool run_program");
    expect(program.kind).toBe(SpanKind.INTERNAL);
    expect(program.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "run_program",
      "gen_ai.tool.type": "function",
      "portcullis.execution.id": report.execution,
      "portcullis.tenant": "acme",
      "portcullis.language": "javascript",
      "portcullis.outcome": "completed",
      "portcullis.calls": 2,
      "portcullis.bytes.in": 2,
    });
    const calls = recording.spans().filter(({ name }) => name === "execute_tool stock.units");
    // Either call may end first.
    expect(
      new Map(calls.map(({ attributes }) => [attributes["gen_ai.tool.call.id"], attributes])).get("1"),
    ).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "stock.units",
      "portcullis.caller": "programmatic",
      "portcullis.outcome": "value",
      "portcullis.result.size": 1,
    });
  });

  test("failures and refusals are errors by their codes, without a message", async () => {
    const broken = defineTool({
      ...STOCK,
      name: "broken",
      execute: () => Promise.reject(new Error("secret host detail")),
    });
    await using runtime = await runtimeWith([stock, broken], { logger: { error: () => {} } });
    const caught = (call: string) => `await ${call}.catch(() => {});`;
    await runtime.execute(caught('tools.broken({ article: "a" })') + caught("tools.stock.units({ article: 7 })"));
    await runtime.execute('throw new Error("the guest says hunter2");');
    const spans = recording.spans();
    const codes = spans.map(({ name, attributes, status }) => [name, attributes["error.type"], status.code]);
    expect(codes).toEqual([
      ["execute_tool broken", "handler_failed", SpanStatusCode.ERROR],
      ["execute_tool stock.units", "input_invalid", SpanStatusCode.ERROR],
      ["execute_tool run_program", undefined, SpanStatusCode.UNSET],
      ["execute_tool run_program", "program_failed", SpanStatusCode.ERROR],
    ]);
    const told = JSON.stringify(spans.map(({ attributes, status, events }) => ({ attributes, status, events })));
    expect(told).not.toMatch(/secret host detail|hunter2/);
  });

  test("a program that does not begin has a span that ends, and is no execution in metrics", async () => {
    await using runtime = await runtimeWith([stock]);
    const begin = (execution: string) =>
      runtime.execute('return await tools.stock.units({ article: "a" });', { id: execution });
    await Promise.all([begin("order"), begin("order")]);
    await begin("order");
    const about = recording.spans().map(({ attributes: at }) => [at["portcullis.outcome"], at["error.type"]]);
    expect(about.filter(([outcome]) => outcome === "not_begun")).toEqual(
      Array.from({ length: 2 }, () => ["not_begun", undefined]),
    );
    expect(await recording.points("portcullis.executions")).toMatchObject([{ value: 1 }]);
  });

  test("a program or a conversation whose journal fails before it begins has a span that ends", async () => {
    const journal = createMemoryJournal();
    const broken = {
      ...journal,
      create: () => Promise.reject(new PortcullisError("journal_full", "The disk is full.")),
    };
    await using runtime = await runtimeWith([stock], { journal: broken });
    await expect(runtime.execute("return 1;")).rejects.toMatchObject({ code: "journal_full" });
    const model = scriptedModel([{ text: "done" }]);
    await expect(runtime.agent({ model, task: "t" })).rejects.toMatchObject({ code: "journal_full" });
    expect(recording.spans().map(({ name, attributes }) => [name, attributes["portcullis.outcome"]])).toEqual([
      ["execute_tool run_program", "not_begun"],
      ["invoke_agent", "not_begun"],
    ]);
  });

  test("an unknown tool name is in no span's name or attribute, and a call id is cut", async () => {
    await using runtime = await runtimeWith([stock]);
    const hostile = "\u202e<script>".repeat(50);
    const calls = [{ tool: hostile, input: {}, id: "x".repeat(5000) }];
    await runtime.agent({ model: scriptedModel([{ calls }, { text: "done" }]), task: "t" });
    const refused = recording.span("execute_tool");
    expect(refused.attributes).toMatchObject({ "error.type": "tool_unknown", "portcullis.outcome": "refused" });
    expect(refused.attributes["gen_ai.tool.name"]).toBeUndefined();
    for (const { name, attributes } of recording.spans()) {
      expect(name.length).toBeLessThan(60);
      expect(JSON.stringify(attributes)).not.toContain("script>");
      for (const value of Object.values(attributes)) expect(String(value).length).toBeLessThanOrEqual(129);
    }
  });

  test("a call of the host is one span below what is active", async () => {
    await using runtime = await runtimeWith([stock]);
    await tracer().startActiveSpan("host", async (span) => {
      await runtime.call({ tool: "stock.units", input: { article: "a" }, caller: "direct" });
      span.end();
    });
    expect(tree(recording.spans())).toEqual([["host", [["execute_tool stock.units", ["SELECT units"]]]]]);
  });
});

describe("spans of a conversation", () => {
  const model = () =>
    scriptedModel(
      [
        { calls: [{ tool: "stock.units", input: { article: "a" } }], usage: { inputTokens: 100, outputTokens: 5 } },
        {
          programs: ['return await tools.stock.units({ article: "b" });'],
          usage: { inputTokens: 200, outputTokens: 7 },
        },
        { text: "done", usage: { inputTokens: 300, outputTokens: 9, cachedInputTokens: 250 } },
      ],
      { name: "anthropic:claude-test" },
    );

  test("have turns, calls, programs and agents that are tools below them", async () => {
    const helper = agentOf("helper", scriptedModel([{ text: "helped" }], { name: "openai-chat:gpt-test" }), {
      tools: [stock],
      allowedCallers: ["direct"],
    });
    await using runtime = await runtimeWith([stock, helper]);
    const chat = "chat claude-test";
    const call = ["execute_tool stock.units", ["SELECT units"]];
    await runtime.agent({ model: model(), task: "t" });
    expect(tree(recording.spans())).toEqual([
      ["invoke_agent", [chat, call, chat, ["execute_tool run_program", [call]], chat]],
    ]);
    const [first] = recording.spans();
    expect(first?.kind).toBe(SpanKind.CLIENT);
    expect(first?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.conversation.id": recording.span("invoke_agent").attributes["gen_ai.conversation.id"],
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "claude-test",
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.cache_read.input_tokens": 0,
    });
    expect(recording.span("invoke_agent").attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.usage.input_tokens": 600,
      "gen_ai.usage.output_tokens": 21,
      "portcullis.outcome": "answered",
    });
    await runtime.agent({
      model: scriptedModel([{ calls: [{ tool: "helper", input: { task: "u" } }] }, { text: "done" }]),
      task: "t",
    });
    expect(tree(recording.spans()).at(-1)).toEqual([
      "invoke_agent",
      ["chat script", ["execute_tool helper", [["invoke_agent", ["chat gpt-test"]]]], "chat script"],
    ]);
    expect(recording.span("chat gpt-test").attributes["gen_ai.provider.name"]).toBe("openai");
  });

  test("a turn of a provider has the ids of its message and its request", async () => {
    await using served = await serve(anthropicWire, [{ text: "4" }]);
    await answered([], { model: served.model(), task: "t" });
    expect(recording.span("chat claude-test").attributes).toMatchObject({
      "gen_ai.response.id": "msg_1",
      "portcullis.request_id": "req_1",
    });
  });

  test("each message of one that its developer holds has a span, which leads back to the one before", async () => {
    await using runtime = await runtimeWith([]);
    await using talk = await runtime.conversation({ model: scriptedModel([{ text: "one" }, { text: "two" }]) });
    await talk.send("a");
    await talk.send("b");
    const [first, second] = recording.spans().filter(({ name }) => name === "invoke_agent");
    expect(first?.links).toEqual([]);
    expect(second?.links.map(({ context }) => context.spanId)).toEqual([first?.spanContext().spanId]);
  });

  test("a provider that fails is an error of the turn and of the conversation", async () => {
    await using runtime = await runtimeWith([]);
    const failure = { code: "overloaded", message: "key sk-123 is overloaded" } as const;
    await runtime.agent({ model: scriptedModel([{ failure }]), task: "t" });
    for (const name of ["chat script", "invoke_agent"])
      expect(recording.span(name).attributes["error.type"]).toBe("overloaded");
    expect(JSON.stringify(recording.spans().map(({ attributes, status }) => [attributes, status]))).not.toContain(
      "sk-",
    );
  });
});

describe("an execution that waits", () => {
  test("ends its span, and what takes it up has a span with a link to it, also after another pause", async () => {
    await using runtime = await runtimeWith([pay], { approve: () => "later" });
    await runtime.execute("await tools.pay({}); return await tools.pay({});", { id: "order" });
    await runtime.execution("order").resume({ decisions: { 1: { allow: true } } });
    await runtime.execution("order").resume({ decisions: { 2: { allow: true } } });
    const programs = recording.spans().filter(({ name }) => name === "execute_tool run_program");
    expect(programs.map(({ attributes }) => attributes["portcullis.outcome"])).toEqual([
      "waiting",
      "waiting",
      "completed",
    ]);
    const ids = programs.map((span) => span.spanContext().spanId);
    expect(programs.map(({ links }) => links.map(({ context }) => context.spanId))).toEqual([
      [],
      [ids[0]],
      [ids[0], ids[1]],
    ]);
    const calls = recording.spans().filter(({ name }) => name === "execute_tool pay");
    expect(calls.map(({ attributes }) => attributes["portcullis.outcome"])).toEqual([
      "waiting",
      "value",
      "waiting",
      "value",
    ]);
    const records = await Array.fromAsync(runtime.journal.read("order"));
    const traces = records.flatMap((one) => (one.type === "header" || one.type === "claim" ? [one.trace] : []));
    expect(traces).toEqual(programs.map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`));
  });

  test("a conversation and its program link back as well", async () => {
    const model = () => scriptedModel([{ programs: ["return await tools.pay({});"] }, { text: "done" }]);
    await using runtime = await runtimeWith([pay], { approve: () => "later" });
    await runtime.agent({ model: model(), task: "t", id: "talk" });
    const [program, agent] = recording.spans().filter(({ name }) => /run_program|invoke_agent/.test(name));
    await runtime.execution("talk").resume({ model: model(), decisions: { "call-1/1": { allow: true } } });
    const after = recording
      .spans()
      .filter(
        ({ name, attributes }) =>
          /run_program|invoke_agent/.test(name) && attributes["portcullis.outcome"] !== "not_begun",
      )
      .slice(2);
    expect(after.map(({ name, links }) => [name, links.map(({ context }) => context.spanId)])).toEqual([
      ["execute_tool run_program", [program?.spanContext().spanId]],
      ["invoke_agent", [agent?.spanContext().spanId]],
    ]);
  });

  test("an invalid span in a journal from elsewhere becomes no link", async () => {
    await using runtime = await runtimeWith([pay], { approve: () => "later" });
    await runtime.execute("return await tools.pay({});", { id: "order" });
    const [header, ...others] = await Array.fromAsync(runtime.journal.read("order"));
    const copy = await journalWith([{ ...header, trace: "00-\u202e\n--; DROP TABLE spans" } as Header, ...others]);
    await using other = await runtimeWith([pay], { journal: copy });
    expect((await other.execution("order").resume({ decisions: { 1: { allow: true } } })).outcome.type).toBe(
      "completed",
    );
    expect(recording.spans().at(-1)?.links).toEqual([]);
  });
});

test("the span of a stream has its items and their bytes, and no text of them, also if it fails", async () => {
  const rows = makeTool({
    name: "rows",
    inputSchema: z.object({ fails: z.boolean() }),
    stream: true,
    *execute({ fails }) {
      yield* [1, 2, 3];
      if (fails) throw new Error("It is out of rows.");
    },
  });
  const telemetry = { capture: ["results"] } as const;
  await executed(
    [rows],
    "for await (const row of tools.rows({ fails: false })); try { for await (const row of tools.rows({ fails: true })); } catch {}",
    {},
    { telemetry, logger: { error: () => {} } },
  );
  const spans = recording.spans().filter(({ name }) => name === "execute_tool rows");
  expect(spans.map(({ attributes }) => attributes)).toMatchObject([
    { "portcullis.outcome": "value", "portcullis.result.items": 3, "portcullis.result.size": 6 },
    { "portcullis.outcome": "failed", "portcullis.result.items": 3, "portcullis.result.size": 6 },
  ]);
  expect(spans.some(({ attributes }) => "gen_ai.tool.call.result" in attributes)).toBe(false);
});
