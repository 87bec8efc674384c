import { expect, describe, test } from "vitest";
import { z } from "zod";
import {
  content,
  createRuntime,
  createSqliteJournal,
  defineTool,
  type ExecutionEvent,
  type Tool,
} from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/testing.ts";

const sandbox = createMemorySandbox();
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const part = { type: "image", mediaType: "image/png", data: new Uint8Array(PIXEL), name: "chart.png" } as const;
const KEPT = { ...part, data: PIXEL.toString("base64") };

const chart = (given: () => unknown): Tool =>
  defineTool({
    name: "chart",
    description: "Draws.",
    input: z.object({}),
    allowedCallers: ["programmatic", "direct"],
    effect: "read",
    handler: given,
  });
const start = (given: () => unknown, options: object = {}) =>
  createRuntime({ tools: [chart(given)], sandbox, logger: { error() {} }, ...options });
const direct = () => scriptedModel([{ calls: [{ tool: "chart", input: {} }] }, { text: "done" }]);

describe("content of a handler", () => {
  test("a model that calls directly gets the value, and the parts beside it", async () => {
    const link = { type: "link", url: "https://example.com/a", mediaType: "text/html" } as const;
    await using runtime = await start(() => content({ value: { points: 3 }, parts: [part, link] }));
    const model = direct();
    const { transcript } = await runtime.agent({ model, task: "t" });
    expect(transcript.turns[0]?.results).toMatchObject([{ text: '{"points":3}', isJson: true, parts: [KEPT, link] }]);
    expect(model.conversations[0]?.[1]?.results[0]?.parts).toEqual([KEPT, link]);
  });

  test("a program gets the value alone, or handles where there is none", async () => {
    await using valued = await start(() => content({ value: { points: 3 }, parts: [part] }));
    const valuedReport = await valued.execute("return await tools.chart({});");
    expect(valuedReport.outcome).toEqual({ type: "completed", value: { points: 3 } });
    await using bare = await start(() => content({ parts: [part] }));
    const { outcome, execution } = await bare.execute("return await tools.chart({});");
    const handle = { type: "image", name: "chart.png", mediaType: "image/png", bytes: PIXEL.length };
    expect(outcome).toEqual({ type: "completed", value: { parts: [handle] } });
    expect(JSON.stringify(await bare.execution(execution).records())).not.toContain(KEPT.data);
  });

  test("a program's report tells which images, files and links it did not get, also after another runtime has resumed it", async () => {
    const link = { type: "link", url: "https://example.com/a" } as const;
    const journal = createSqliteJournal({ path: ":memory:" });
    const ask = defineTool({
      name: "ask",
      description: "Asks.",
      input: z.object({}),
      allowedCallers: ["programmatic"],
      effect: "read",
      handler: "client",
    });
    const hidden = defineTool({
      name: "hidden",
      description: "Draws.",
      input: z.object({}),
      allowedCallers: ["programmatic"],
      effect: "read",
      handler: () => content({ value: 1, parts: [part] }),
    });
    const tools = [chart(() => content({ value: 1, parts: [part, link] })), ask, hidden];
    const left =
      "Results of chart had 4 images, files or links that a program does not get: a direct call of chart shows them.";
    const one =
      "Results of hidden had 1 image, file or link that a program does not get: only direct calls do, and hidden is for programs.";
    const notes = [left, one];
    const calls = [{ partsLeftOut: 2 }, { partsLeftOut: 2 }, { partsLeftOut: 1 }, { tool: "ask" }];
    const program = "await tools.chart({}); await tools.chart({}); await tools.hidden({}); return await tools.ask({});";
    {
      await using runtime = await createRuntime({ tools, sandbox, journal });
      expect((await runtime.execute(program, { execution: "drawn" })).outcome.type).toBe("waiting");
    }
    await using runtime = await createRuntime({ tools, sandbox, journal });
    const report = await runtime.resume("drawn", { results: { "4": { value: 2 } } });
    expect(report).toMatchObject({ outcome: { value: 2 }, notes, calls });
    expect(report.output.text).toContain(left);
    expect(await runtime.resume("drawn")).toMatchObject({ outcome: { value: 2 }, notes, calls });
  });

  test("what is for people and has no JSON form any more fails the call, and not the program", async () => {
    const once = { asked: 0, toJSON: () => (once.asked++ === 0 ? "shown" : 1n) };
    await using runtime = await start(() => content({ value: 1, display: once }));
    const { outcome } = await runtime.execute("return await tools.chart({}).catch(({ code }) => code);");
    expect(outcome).toEqual({ type: "completed", value: "handler_failed" });
  });

  test("display is in events and in the report, also of a journal, and neither a program nor a model gets it", async () => {
    const events: ExecutionEvent[] = [];
    const journal = createSqliteJournal({ path: ":memory:" });
    const given = () => content({ value: 1, display: { markdown: "**three points**" } });
    await using runtime = await start(given, { journal, onEvent: (event: ExecutionEvent) => events.push(event) });
    const report = await runtime.execute("return await tools.chart({});", { execution: "shown" });
    const display = { markdown: "**three points**" };
    expect(report.calls).toMatchObject([{ tool: "chart", display }]);
    expect(report.output.text).not.toContain("three points");
    expect((await runtime.execute("return await tools.chart({});", { execution: "shown" })).calls).toMatchObject([
      { display },
    ]);
    expect(events.filter(({ type }) => type === "call_ended")).toMatchObject([{ display }]);
    const { transcript } = await runtime.agent({ model: direct(), task: "t" });
    expect(JSON.stringify(transcript)).not.toContain("three points");
  });

  test("parts over partBytes fail the call, and a program may still have the value", async () => {
    await using runtime = await start(() => content({ value: 1, parts: [part] }), { limits: { partBytes: 50 } });
    const { transcript } = await runtime.agent({ model: direct(), task: "t" });
    expect(transcript.turns[0]?.results[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining("limit partBytes"),
    });
    expect((await runtime.execute("return await tools.chart({});")).outcome).toMatchObject({ value: 1 });
  });

  test("parts count in totalBytes", async () => {
    const big = { type: "file", mediaType: "application/pdf", data: new Uint8Array(600_000) } as const;
    await using runtime = await start(() => content({ value: 1, parts: [big] }), { limits: { totalBytes: 1_000_000 } });
    const model = scriptedModel([{ calls: [{ tool: "chart" }] }, { calls: [{ tool: "chart" }] }, { text: "done" }]);
    const { transcript } = await runtime.agent({ model, task: "t" });
    expect(transcript.turns.map(({ results }) => results[0]?.isError)).toEqual([false, true, undefined]);
  });

  test("a host's own call gets the parts, and the value fits the tool's schema", async () => {
    const tool = defineTool({
      name: "chart",
      description: "Draws.",
      input: z.object({}),
      output: z.object({ points: z.number() }),
      allowedCallers: ["direct"],
      effect: "read",
      handler: () => content({ value: { points: 3 }, parts: [part] }),
    });
    await using runtime = await createRuntime({ tools: [tool], sandbox, journal: createMemoryJournal() });
    expect(await runtime.call({ tool: "chart", input: {}, caller: "direct" })).toEqual({
      ok: true,
      value: { points: 3 },
      parts: [KEPT],
    });
  });

  test("a conversation that is read from its journal has the parts", async () => {
    await using runtime = await start(() => content({ value: 1, parts: [part] }), {
      journal: createSqliteJournal({ path: ":memory:" }),
    });
    const { execution } = await runtime.agent({ model: direct(), task: "t" });
    const { transcript } = await runtime.resumeAgent(execution, { model: direct() });
    expect(transcript.turns[0]?.results[0]?.parts).toEqual([KEPT]);
  });
});

test.each([
  [{ parts: [{ type: "image", mediaType: "text/plain", data: "" }] }, "image/png"],
  [{ parts: [{ type: "image", mediaType: "image/png", data: "no base64!" }] }, "base64"],
  [{ parts: [{ type: "file", mediaType: "no type", data: "" }] }, "media type"],
  [{ parts: [{ type: "link", url: "javascript:alert(1)" }] }, "https://"],
  [{ parts: [{ type: "video", mediaType: "video/mp4", data: "" }] }, '"image", "file" or "link"'],
  [{ parts: [{ ...part, path: "/etc/passwd" }] }, '"path"'],
  [{ parts: Array.from({ length: 21 }, () => part) }, "up to 20 parts"],
  [{ display: "x".repeat(70_000) }, "64 KiB"],
  [{ display: () => 1 }, "64 KiB"],
])("content(%j) is refused with what was expected", (given, said) => {
  expect(() => content(given as never)).toThrow(said);
});

describe("content that was changed after it was made, or made elsewhere, is checked again", () => {
  const growing = { asked: 0, toJSON: () => (growing.asked++ === 0 ? "small" : "x".repeat(100_000)) };
  const changed = (parts: readonly unknown[]) => {
    const made = content({ value: 1, parts: [part] });
    (made.parts as unknown[]).splice(0, 1, ...parts);
    return made;
  };
  test.each<[string, () => unknown]>([
    ["a media type with a line break", () => changed([{ ...KEPT, mediaType: "image/png\r\nx: y" }])],
    ["data that is no text", () => changed([{ ...KEPT, data: { length: 3 } }])],
    ["data that is no base64", () => changed([{ ...KEPT, data: "%%%%" }])],
    ["too many parts", () => changed(Array.from({ length: 21 }, () => KEPT))],
    ["what is for people, grown since", () => content({ value: 1, display: growing })],
    [
      "a value with the mark alone",
      () => ({ [Symbol.for("portcullis.content")]: true, value: 1, parts: [{ type: "x" }] }),
    ],
  ])("%s", async (_, made) => {
    await using runtime = await createRuntime({ tools: [chart(made)], sandbox, logger: { error: () => {} } });
    const called = await runtime.call({ tool: "chart", input: {}, caller: "direct" });
    expect(called).toMatchObject({ ok: false, code: "handler_failed" });
  });
});
