import { setTimeout } from "node:timers/promises";
import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { createRuntime, type Limits, type Tool, type CallContext } from "../../../../src/index.ts";
import { createMemorySandbox } from "../../../../src/testing.ts";
import { testOfAll } from "../../../support/all-tests.ts";
import { ALL, callTool, operationOf, sendJson, sourceOf, specOf, startServer } from "../api-server.ts";

const LINES = "application/x-ndjson";
const EVENTS = "text/event-stream";
const row = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

const streaming = (mediaType: string, media: object = {}) => ({
  responses: { 200: { content: { [mediaType]: media } } },
});

const answering = (mediaType: string, ...chunks: readonly string[]) =>
  startServer((_, response) => {
    response.writeHead(200, { "content-type": mediaType });
    for (const chunk of chunks) response.write(chunk);
    response.end();
  });

/** Runs a program that reads tools of a source. */
async function run(tools: readonly Tool[], program: string, limits: Partial<Limits> = {}) {
  await using runtime = await createRuntime({
    tools,
    sandbox: createMemorySandbox(),
    limits,
    logger: { error: () => {} },
  });
  return await runtime.execute(program);
}

const READ_ALL = `const items = [];
try { for await (const item of tools.api.call({})) items.push(item); } catch ({ code, message }) { return [items, code, message]; }
return items;`;

describe("an operation that answers with a stream is read item by item", () => {
  test.each<readonly [string, string, string, readonly unknown[]]>([
    ["lines", LINES, '{"n":1}\n{"n":2}\n', [{ n: 1 }, { n: 2 }]],
    ["lines of another name", "application/jsonl; charset=utf-8", "1\n2", [1, 2]],
    ["lines of a third name", "application/json-lines", "[]\n", [[]]],
    ["a sequence", "application/json-seq", "\u001e1\n\u001e2\n", [1, 2]],
    ["a sequence of a kind", "application/geo+json-seq", "\u001e{}\n", [{}]],
    [
      "events",
      EVENTS,
      ': hello\n\nevent: add\nid: 1\ndata: {"n":1}\n\ndata: [DONE]\n\n',
      [{ event: "add", id: "1", data: { n: 1 } }, { data: "[DONE]" }],
    ],
    ["nothing", LINES, "", []],
  ])("%s", async (_, mediaType, text, items) => {
    await using server = await answering(mediaType, text);
    const { tools } = await sourceOf(operationOf(streaming(mediaType)), { baseUrl: server.baseUrl });
    expect(tools).toMatchObject([{ stream: true }]);
    const report = await run(tools, READ_ALL);
    expect(report.outcome).toEqual({ type: "completed", value: items });
    expect(report.calls).toMatchObject([{ tool: "api.call", items: items.length }]);
    expect(server.arrived).toMatchObject([{ headers: { accept: mediaType.split(";", 1)[0] } }]);
    expect(await callTool(tools, "api.call", {})).toEqual({ ok: true, value: items });
  });

  test("of an answer without a body, of status 204", async () => {
    await using server = await startServer((_, response) => response.writeHead(204).end());
    const { tools } = await sourceOf(operationOf(streaming(LINES)), { baseUrl: server.baseUrl });
    expect((await run(tools, READ_ALL)).outcome).toMatchObject({ value: [] });
  });

  test("of lines that a server calls JSON or text", async () => {
    for (const mediaType of ["application/json", "text/plain", "application/octet-stream"]) {
      await using server = await answering(mediaType, "1\n2\n");
      const { tools } = await sourceOf(operationOf(streaming(LINES)), { baseUrl: server.baseUrl });
      expect((await run(tools, READ_ALL)).outcome).toMatchObject({ value: [1, 2] });
    }
  });

  test("with the input and the credentials of any call", async () => {
    await using server = await answering(LINES, '"the-secret"\n');
    const operation = { ...streaming(LINES), requestBody: { content: { "application/json": { schema: row } } } };
    const auth = { bearer: "the-secret" };
    const { tools } = await sourceOf(operationOf(operation, "/x", "post"), { baseUrl: server.baseUrl, auth });
    const report = await run(tools, "return Array.fromAsync(tools.api.call({ n: 1 }));");
    expect(report.outcome).toMatchObject({ value: ["[secret]"] });
    expect(server.arrived).toMatchObject([{ method: "POST", headers: { authorization: "Bearer the-secret" } }]);
    expect(server.arrived[0]?.body.toString()).toBe('{"n":1}');
  });
});

test("an item is checked for each item, unless results are not to be checked", async () => {
  await using server = await answering(LINES, '{"n":1}\n{"n":"two"}\n{"n":3}\n');
  const spec = operationOf(streaming(LINES, { schema: row }));
  const { tools } = await sourceOf(spec, { baseUrl: server.baseUrl });
  expect((await run(tools, READ_ALL)).outcome).toMatchObject({
    value: [[{ n: 1 }], "output_invalid", expect.stringContaining("Item 1 ")],
  });
  const unchecked = await sourceOf(spec, { baseUrl: server.baseUrl, checkResults: false });
  expect((await run(unchecked.tools, READ_ALL)).outcome).toMatchObject({ value: [{ n: 1 }, { n: "two" }, { n: 3 }] });
});

describe("a stream that cannot be read", () => {
  const unreadable = async (
    answer: Parameters<typeof startServer>[0],
    limits: Partial<Limits> = {},
    mediaType = LINES,
  ) => {
    await using server = await startServer(answer);
    const { tools } = await sourceOf(operationOf(streaming(mediaType)), { baseUrl: server.baseUrl });
    const { outcome } = await run(tools, READ_ALL, limits);
    return (outcome as { readonly value?: unknown }).value;
  };
  const sending =
    (text: string, end: (response: ServerResponse) => void = (response) => response.end(), mediaType = LINES) =>
    (_: unknown, response: ServerResponse) => {
      response.writeHead(200, { "content-type": mediaType });
      response.write(text, () => end(response));
    };

  test.each<readonly [string, Parameters<typeof startServer>[0], readonly unknown[]]>([
    [
      "fails with the status of its answer",
      (_, response) => sendJson(response, { message: "none" }, 404),
      [[], "handler_failed", expect.stringContaining("404")],
    ],
    [
      "fails if its answer leads to another host",
      (_, response) => response.writeHead(302, { location: "http://evil.example/" }).end(),
      [[], "handler_failed", expect.stringContaining("another host, which is not followed")],
    ],
    [
      "fails if its answer is none",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
      [[], "handler_failed", "api answered with text/html and not with the stream that it declares."],
    ],
    [
      "fails after the items before one that is no JSON",
      sending("1\n2\n<p>\n3\n"),
      [[1, 2], "source_unavailable", "api sent an item that cannot be read as JSON."],
    ],
    [
      "fails after the items before one that is no UTF-8",
      (_, response) => response.writeHead(200, { "content-type": LINES }).end(Buffer.from([0x31, 10, 0xff, 10])),
      [[1], "source_unavailable", "api sent text that is not UTF-8."],
    ],
    [
      "fails after the items before its end, if it breaks off",
      sending("1\n2\n", (response) => response.socket?.end()),
      [[1, 2], "source_unavailable", "api broke off after 2 items. Use these, or call again."],
    ],
    [
      "fails after the items before one that is too long",
      sending(`1\n"${"x".repeat(5000)}"\n2\n`),
      [[1], "result_too_large", expect.any(String)],
    ],
    [
      "fails after the items before one that never ends",
      sending(`1\n"${"x".repeat(5000)}`, () => {}),
      [[1], "result_too_large", expect.any(String)],
    ],
  ])("%s", async (_, answer, expected) => {
    expect(await unreadable(answer, { resultBytes: 2000 })).toEqual(expected);
  });

  test("says of a call that changes something that it may have taken effect", async () => {
    await using server = await startServer(sending("1\n", (response) => response.socket?.end()));
    const { tools } = await sourceOf(operationOf(streaming(LINES), "/x", "post"), { baseUrl: server.baseUrl });
    expect((await run(tools, READ_ALL)).outcome).toMatchObject({
      value: [[1], "source_unavailable", expect.stringContaining("may have taken effect")],
    });
  });

  test("of events that are comments alone is silent for the tool's time", async () => {
    const server = await startServer((_, response) => {
      response.writeHead(200, { "content-type": EVENTS });
      const timer = setInterval(() => response.write(": still here\n\n"), 20);
      response.on("close", () => clearInterval(timer));
    });
    await using _ = server;
    const policy = { ...ALL, timeoutMs: 300 };
    const { tools } = await sourceOf(operationOf(streaming(EVENTS)), { baseUrl: server.baseUrl }, policy);
    expect((await run(tools, READ_ALL)).outcome).toMatchObject({
      value: [[], "handler_timed_out", expect.any(String)],
    });
  });
});

/** A server that sends lines without an end. */
async function endless(mediaType = LINES) {
  const closing = Promise.withResolvers<void>();
  const sent = { bytes: 0 };
  const line = `${JSON.stringify("x".repeat(1000))}\n`.repeat(64);
  const server = await startServer((_, response) => {
    response.on("close", () => closing.resolve());
    response.writeHead(200, { "content-type": mediaType });
    const more = () => {
      while (!response.destroyed) {
        sent.bytes += line.length;
        if (!response.write(line)) break;
      }
      response.once("drain", more);
    };
    more();
  });
  return { server, sent, closed: closing.promise };
}

describe("an endless stream", () => {
  test("is ended by the program's break, which ends the request", async () => {
    const { server, closed } = await endless();
    await using _ = server;
    const { tools } = await sourceOf(operationOf(streaming(LINES)), { baseUrl: server.baseUrl });
    const program = "let n = 0; for await (const item of tools.api.call({})) if ((n += 1) === 5000) break; return n;";
    expect((await run(tools, program)).outcome).toMatchObject({ value: 5000 });
    await closed;
  });

  test("is ended by the call's signal", async () => {
    const { server, sent, closed } = await endless();
    await using _ = server;
    const { tools } = await sourceOf(operationOf(streaming(LINES)), { baseUrl: server.baseUrl });
    await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
    const cancelling = new AbortController();
    const running = runtime.execute("for await (const item of tools.api.call({}));", { signal: cancelling.signal });
    await vi.waitUntil(() => sent.bytes > 0, { timeout: 30_000 });
    cancelling.abort();
    expect((await running).outcome).toMatchObject({ type: "cancelled" });
    await closed;
  });

  testOfAll("is held up by a program that is slow, so that little of it is read ahead", async () => {
    const { server, sent } = await endless();
    await using _ = server;
    const spec = specOf({
      "/x": { get: { operationId: "call", ...streaming(LINES) } },
    });
    const { tools } = await sourceOf(spec, { baseUrl: server.baseUrl });
    const handler = tools[0]?.handler as (input: unknown, context: CallContext) => AsyncGenerator;
    const aborting = new AbortController();
    const context = { signal: aborting.signal, effect: "read", resultBytes: 1e7, resultValues: 1e6 } as CallContext;
    const items = handler({}, context);
    await items.next();
    await setTimeout(300);
    const atFirst = sent.bytes;
    await setTimeout(700);
    // What the sockets of both sides hold is with the system.
    expect(sent.bytes).toBe(atFirst);
    expect(sent.bytes).toBeLessThan(32 * 1024 * 1024);
    await items.return(undefined);
  });
});

describe("events that were read in part when the host stopped", () => {
  const resume = async (last: unknown) => {
    await using server = await answering(EVENTS, "id: 8\ndata: 2\n\n");
    const { tools } = await sourceOf(operationOf(streaming(EVENTS)), { baseUrl: server.baseUrl });
    expect(tools[0]?.resumes).toBe("after");
    const handler = tools[0]?.handler as (input: unknown, context: object) => AsyncGenerator;
    const context = { signal: new AbortController().signal, effect: "read", resultBytes: 1e7, resultValues: 1e6 };
    const items = await Array.fromAsync(handler({}, { ...context, after: { items: 1, last } })).catch(
      (error: unknown) => (error as Error).message,
    );
    return { items, asked: server.arrived.map(({ headers }) => headers["last-event-id"]) };
  };

  test("go on after the last one, by its id", async () => {
    expect(await resume({ id: "7", data: 1 })).toEqual({ items: [{ id: "8", data: 2 }], asked: ["7"] });
  });

  test.each([{ data: 1 }, undefined, { id: "a\nb", data: 1 }, { id: 7, data: 1 }])(
    "fail if the last one has no id that a request can carry: %j",
    async (last) => {
      expect(await resume(last)).toEqual({ items: expect.stringContaining("no id to go on from"), asked: [] });
    },
  );

  test("are sent again from the start if they are lines", async () => {
    const { tools } = await sourceOf(operationOf(streaming(LINES)));
    expect(tools[0]?.resumes).toBe("from-start");
  });
});
