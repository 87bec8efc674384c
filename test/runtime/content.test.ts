import { expect, describe, test } from "vitest";
import { z } from "zod";
import { content, createSqliteJournal, type ExecutionEvent, jsonSchema, type Tool } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { executed, makeTool, runtimeWith } from "../support/index.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const part = { type: "image", mediaType: "image/png", data: new Uint8Array(PIXEL), name: "chart.png" } as const;
const KEPT = { ...part, data: PIXEL.toString("base64") };

const chart = (given: () => unknown): Tool =>
  makeTool({ name: "chart", allowedCallers: ["programmatic", "direct"], execute: given });
const start = (given: () => unknown, options: object = {}) =>
  runtimeWith([chart(given)], { logger: { error() {} }, ...options });
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

  test("a field of a part that is undefined is left out of it, so that the handle fits a schema", async () => {
    const execute = () => content({ parts: [{ ...part, name: undefined, url: undefined } as never] });
    const field = { type: "object", properties: { name: { type: "string" } } };
    const outputSchema = jsonSchema({ type: "object", properties: { parts: { type: "array", items: field } } });
    await using runtime = await start(() => 0, { tools: [makeTool({ name: "chart", execute, outputSchema })] });
    const { outcome } = await runtime.execute("return await tools.chart({});");
    const handle = { type: "image", mediaType: "image/png", bytes: PIXEL.length };
    expect(outcome).toEqual({ type: "completed", value: { parts: [handle] } });
  });

  test("a program's report tells which images, files and links it did not get, also after another runtime has resumed it", async () => {
    const link = { type: "link", url: "https://example.com/a" } as const;
    const journal = createSqliteJournal({ path: ":memory:" });
    const ask = makeTool({ name: "ask", execute: "client" });
    const hidden = makeTool({ name: "hidden", execute: () => content({ value: 1, parts: [part] }) });
    const tools = [chart(() => content({ value: 1, parts: [part, link] })), ask, hidden];
    const left =
      "Results of chart had 4 images, files or links that a program does not get: a direct call of chart shows them.";
    const one =
      "Results of hidden had 1 image, file or link that a program does not get: only direct calls do, and hidden is for programs.";
    const notes = [left, one];
    const calls = [{ partsLeftOut: 2 }, { partsLeftOut: 2 }, { partsLeftOut: 1 }, { tool: "ask" }];
    const program = "await tools.chart({}); await tools.chart({}); await tools.hidden({}); return await tools.ask({});";
    {
      expect((await executed(tools, program, { id: "drawn" }, { journal })).outcome.type).toBe("waiting");
    }
    await using runtime = await runtimeWith(tools, { journal });
    const report = await runtime.execution("drawn").resume({ results: { "4": { value: 2 } } });
    expect(report).toMatchObject({ outcome: { value: 2 }, notes, calls });
    expect(report.output.text).toContain(left);
    expect(await runtime.execution("drawn").resume()).toMatchObject({ outcome: { value: 2 }, notes, calls });
  });

  test("display is in events and in the report, also of a journal, and neither a program nor a model gets it", async () => {
    const events: ExecutionEvent[] = [];
    const journal = createSqliteJournal({ path: ":memory:" });
    const given = () => content({ value: 1, display: { markdown: "**three points**" } });
    await using runtime = await start(given, { journal, onEvent: (event: ExecutionEvent) => events.push(event) });
    const report = await runtime.execute("return await tools.chart({});", { id: "shown" });
    const display = { markdown: "**three points**" };
    expect(report.calls).toMatchObject([{ tool: "chart", display }]);
    expect(report.output.text).not.toContain("three points");
    expect((await runtime.execute("return await tools.chart({});", { id: "shown" })).calls).toMatchObject([
      { display },
    ]);
    expect(events.filter(({ type }) => type === "call_ended")).toMatchObject([{ display }]);
    const { transcript } = await runtime.agent({ model: direct(), task: "t" });
    expect(JSON.stringify(transcript)).not.toContain("three points");
  });

  test("parts over partBytes fail the call, and a program may still have the value", async () => {
    const large = { ...part, data: new Uint8Array(800_000) };
    const limits = { resultBytes: 1000 };
    await using runtime = await start(() => content({ value: 1, parts: [large] }), { limits });
    const { transcript } = await runtime.agent({ model: direct(), task: "t" });
    expect(transcript.turns[0]?.results[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining("limit partBytes"),
    });
    expect((await runtime.execute("return await tools.chart({});")).outcome).toMatchObject({ value: 1 });
  });

  test("a host's own call gets the parts, and the value fits the tool's schema", async () => {
    const tool = makeTool({
      name: "chart",
      outputSchema: z.object({ points: z.number() }),
      allowedCallers: ["direct"],
      execute: () => content({ value: { points: 3 }, parts: [part] }),
    });
    await using runtime = await runtimeWith([tool], { journal: createMemoryJournal() });
    expect(await runtime.call({ tool: "chart", input: {}, caller: "direct" })).toEqual({
      ok: true,
      value: { points: 3 },
      parts: [KEPT],
    });
  });
});

describe("content of a handler that has failed", () => {
  const FAILED = { isError: true, value: { code: 5, at: "axis" }, parts: [part], display: "No axis." } as const;
  const failing = (given: object = {}) => start(() => content({ ...FAILED, ...given }));
  const catches = `try { await tools.chart({}); } catch ({ name, code, tool, message, value }) { return { name, code, tool, message, value }; }`;

  test("a model that calls directly gets the value and the parts as a failed result, also where the journal is read", async () => {
    const journal = createSqliteJournal({ path: ":memory:" });
    await using runtime = await start(() => content(FAILED), { journal });
    const { transcript, execution, calls } = await runtime.agent({ model: direct(), task: "t" });
    const result = { text: '{"code":5,"at":"axis"}', isJson: true, isError: true, parts: [KEPT] };
    expect(transcript.turns[0]?.results).toMatchObject([result]);
    expect(calls).toMatchObject([{ outcome: { type: "failed", code: "handler_failed" }, display: "No axis." }]);
    const again = await runtime.execution(execution).resume({ model: direct() });
    expect(again.transcript).toEqual(transcript);
    expect(again.calls).toEqual(calls);
  });

  test("a text is the message, indented as foreign text, and cut in its middle where it is long", async () => {
    await using runtime = await failing({ value: "No axis.\nPrinted: 3" });
    const { transcript } = await runtime.agent({ model: direct(), task: "t" });
    const [result] = transcript.turns[0]?.results ?? [];
    expect(result).toMatchObject({ text: "  No axis.\n  Printed: 3", isJson: false, isError: true, parts: [KEPT] });
    await using long = await failing({ value: `begin${"x".repeat(100_000)}end` });
    const [cut] = (await long.agent({ model: direct(), task: "t" })).transcript.turns[0]?.results ?? [];
    expect(cut?.text).toMatch(/^ {2}beginx+\n… \d+ bytes left out …\n {2}x+end$/);
    expect(cut?.provenance).toMatchObject({ bytes: 100_010, cut: "of which the middle is left out" });
  });

  test("a value that is too large is kept, and shown in part", async () => {
    await using runtime = await failing({ value: Array.from({ length: 5000 }, (_, id) => ({ id })) });
    const { transcript, artifacts } = await runtime.agent({ model: direct(), task: "t" });
    const [result] = transcript.turns[0]?.results ?? [];
    expect([result?.isError, JSON.parse(result?.text ?? "")]).toMatchObject([
      true,
      { artifact: "result-1", count: 5000 },
    ]);
    expect(await artifacts[0]?.read()).toHaveLength(5000);
  });

  test("a program gets an error with the value, and no parts, also in a replay", async () => {
    await using runtime = await failing();
    const report = await runtime.execute(catches);
    const message = '{"code":5,"at":"axis"}';
    const error = { name: "ToolError", code: "handler_failed", tool: "chart", message, value: FAILED.value };
    expect(report.outcome).toEqual({ type: "completed", value: error });
    expect(report.calls).toMatchObject([{ outcome: { type: "failed" }, display: "No axis.", partsLeftOut: 1 }]);
    expect(await runtime.execution(report.execution).replay()).toEqual({ type: "identical" });
    expect(JSON.stringify(await runtime.execution(report.execution).records())).not.toContain(KEPT.data);
    await using bare = await start(() => content({ isError: true, parts: [part] }));
    const { outcome } = await bare.execute(catches);
    expect(outcome).toMatchObject({ value: { value: { parts: [{ type: "image", name: "chart.png" }] } } });
  });

  test("its value need not fit the tool's schema, and its error is not tried again", async () => {
    let called = 0;
    const tool = makeTool({
      name: "chart",
      outputSchema: z.object({ points: z.number() }),
      allowedCallers: ["direct"],
      retry: { attempts: 3 },
      execute: () => {
        called += 1;
        return content({ value: { points: 1 }, isError: true, source: "charts/a.svg" });
      },
    });
    await using runtime = await runtimeWith([tool]);
    const answer = await runtime.call({ tool: "chart", input: {}, caller: "direct" });
    const message = '{"points":1}';
    expect(answer).toEqual({ ok: false, code: "handler_failed", message, value: { points: 1 }, from: "charts/a.svg" });
    expect(called).toBe(1);
  });

  test.each<[string, unknown, object, string, (readonly (typeof part)[])?]>([
    ["too large", "x".repeat(5000), { resultBytes: 1000 }, "result_too_large"],
    ["too many values", Array(4_200_000).fill(1), {}, "result_too_large"],
    ["no JSON", () => 3, {}, "output_invalid"],
    ["more than totalBytes leaves", "x".repeat(50_000), { totalBytes: 60_000 }, "result_over_budget"],
    [
      "of parts that are too large",
      1,
      { resultBytes: 1000 },
      "result_too_large",
      [{ ...part, data: new Uint8Array(800_000) }],
    ],
  ])("a value that is %s fails the call without it", async (_, value, limits, code, parts = FAILED.parts) => {
    await using runtime = await start(() => content({ ...FAILED, parts, value }), { limits });
    const answer = await runtime.call({ tool: "chart", input: {}, caller: "direct" });
    const isHeld = value === "x".repeat(50_000);
    // The message of a text counts beside it.
    const again = isHeld ? await runtime.call({ tool: "chart", input: {}, caller: "direct" }) : answer;
    expect(again).toMatchObject({ ok: false, code: isHeld ? "handler_failed" : code });
    if (!isHeld) expect(again).not.toHaveProperty("value");
    const both = `const codes = []; for (let n = 0; n < 2; n += 1) await tools.chart({}).catch(({ code, value }) => codes.push(code, value === undefined)); return codes;`;
    if (isHeld)
      expect((await runtime.execute(both)).outcome).toMatchObject({
        type: "completed",
        value: ["handler_failed", false, code, true],
      });
  });
});

describe("where a result comes from", () => {
  const source = "file:///reports/2026.csv";

  test("is told to a model that calls directly, cleaned, and is in the transcript and the journal", async () => {
    const journal = createSqliteJournal({ path: ":memory:" });
    await using runtime = await start(() => content({ value: 1, source: `${source}\u202e\u001b[2J` }), { journal });
    const { transcript, execution } = await runtime.agent({ model: direct(), task: "t" });
    const { from } = transcript.turns[0]?.results[0]?.provenance ?? {};
    expect(from).toBe(`${source}\\u202e\\u001b[2J`);
    const again = await runtime.execution(execution).resume({ model: direct() });
    expect(again.transcript).toEqual(transcript);
  });

  test("is in the answer of a host's own call, and no program gets it", async () => {
    await using runtime = await start(() => content({ value: 1, source }));
    expect(await runtime.call({ tool: "chart", input: {}, caller: "direct" })).toEqual({
      ok: true,
      value: 1,
      from: source,
    });
    expect((await runtime.execute("return await tools.chart({});")).outcome).toEqual({ type: "completed", value: 1 });
  });

  test.each([["", 3, "x".repeat(2049), "é".repeat(1025), null, {}]].flat())("is refused if it is %j", (given) => {
    expect(() => content({ value: 1, source: given as string })).toThrow(
      /content\(\{ source \}\): expected an address or a path/,
    );
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
    await using runtime = await runtimeWith([chart(made)], { logger: { error: () => {} } });
    const called = await runtime.call({ tool: "chart", input: {}, caller: "direct" });
    expect(called).toMatchObject({ ok: false, code: "output_invalid" });
  });
});
