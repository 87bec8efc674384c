import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { declareTools } from "../../../src/tools/declarations/declarations.ts";
import {
  ALL,
  answerOf,
  bodyOf,
  callTool,
  jsonOf,
  operationOf,
  sendJson,
  served,
  sourceOf,
  specOf,
  startServer,
} from "./api-server.ts";
import { failing } from "../../support/failing.ts";
import { makeTool } from "../../support/tools.ts";

const sandbox = createMemorySandbox();

/** An API with one operation, which answers so. */
const answeringWith = (status: number, mediaType: string, body: string | Buffer, more: object = {}, auth = {}) =>
  served(
    operationOf(more),
    (_, response) => void response.writeHead(status, { "content-type": mediaType }).end(body),
    auth,
  );

const answering = (content: object) => ({ responses: { 200: { content } } });

/** Writes a part again and again, as fast as it is read. */
const writeOn = (response: ServerResponse, part: string | Buffer) => {
  while (response.write(part));
  response.once("drain", () => writeOn(response, part));
};

describe("an answer of success", () => {
  test.each([
    ["JSON", "application/json; charset=utf-8", '{"a":[1,null]}', { a: [1, null] }],
    ["text", "text/html; charset=iso-8859-1", Buffer.from("\xe9", "latin1"), "é"],
    ["lines of JSON", "application/x-ndjson", '{"a":1}\n[]\n', '{"a":1}\n[]\n'],
    ["events", "text/event-stream", "id: 1\ndata: {}\n\n", "id: 1\ndata: {}\n\n"],
    ["nothing", "application/json", "", null],
  ])("is %s", async (_, mediaType, body, value) => {
    await using server = await answeringWith(200, mediaType, body);
    expect(await server.call({})).toEqual({ ok: true, value });
  });

  test.each([
    ["image/png", { type: "image", mediaType: "image/png" }],
    ["application/zip; name=a", { type: "file", mediaType: "application/zip" }],
  ])("that is bytes is a part of a direct call, and base64 for a program: %s", async (mediaType, part) => {
    await using server = await answeringWith(200, mediaType, Buffer.from([0, 255]));
    await using runtime = await createRuntime({ tools: server.tools, sandbox });
    const called = (caller: "direct" | "programmatic") =>
      runtime.call({ tool: "api.call", input: {}, caller, gather: true });
    expect(await called("direct")).toEqual({
      ok: true,
      value: { mediaType, bytes: 2 },
      parts: [{ ...part, data: "AP8=" }],
    });
    expect(await called("programmatic")).toEqual({ ok: true, value: { mediaType, base64: "AP8=" } });
  });

  test.each([
    ["text", answering({ "text/plain": { schema: { type: "string" } } }), "Promise<string>"],
    ["bytes", answering({ "application/zip": {} }), "Promise<{ mediaType: string, base64: string }>"],
    [
      "one of several",
      {
        responses: {
          200: jsonOf({ type: "array", items: { type: "string" } }),
          202: jsonOf({ type: "object", properties: { job: { type: "string" } } }),
          204: {},
          404: jsonOf({ type: "boolean" }),
        },
      },
      "Promise<string[] | { job?: string } | null>",
    ],
    ["unknown where nothing is said", { responses: { 200: { description: "fine" } } }, "Promise<unknown>"],
    ["unknown where one may be null", { responses: { 200: { description: "fine" }, 204: {} } }, "Promise<unknown>"],
    [
      "null where one of several has no content",
      { responses: { ...answering({ "text/plain": {} }).responses, 202: {} } },
      "Promise<string | null>",
    ],
  ])("has the type of its document: %s", async (_, operation, type) => {
    const { tools } = await sourceOf(operationOf(operation));
    expect(declareTools(tools)).toContain(type);
  });

  test("may have more fields than its document says, and lacks what is only written", async () => {
    const schema = {
      type: "object",
      additionalProperties: false,
      required: ["id", "password"],
      properties: { id: { type: "integer", readOnly: true }, password: { type: "string", writeOnly: true } },
    };
    const spec = operationOf({ ...bodyOf(schema), ...answerOf(schema) }, "/x", "post");
    await using server = await served(spec, (_, response) => sendJson(response, { id: 1, added: true }));
    expect(declareTools(server.tools)).toContain("call(input: { password: string }): Promise<{ id: number }>");
    expect(await server.call({ password: "p" })).toEqual({ ok: true, value: { id: 1, added: true } });
    expect(await server.call({ password: "p", id: 2 })).toMatchObject({ code: "input_invalid" });
  });

  test("that does not have the shape of its document is output_invalid, and the operator is told the option", async () => {
    const schema = { type: "object", properties: { id: { type: "integer" } } };
    await using server = await served(operationOf(answerOf(schema)), (_, response) =>
      sendJson(response, { id: "one" }),
    );
    const errors: unknown[] = [];
    const answer = await server.call({}, { errors });
    expect(answer).toMatchObject({ ok: false, code: "output_invalid" });
    expect(errors).toMatchObject([{ err: { message: expect.stringContaining("`checkResults: false`") as string } }]);
  });

  test("of another shape is taken where results are not to be checked, and the type is shown all the same", async () => {
    await using server = await startServer((_, response) => sendJson(response, { id: "one" }));
    const schema = { type: "object", properties: { id: { type: "integer" } } };
    const options = { baseUrl: server.baseUrl, checkResults: false };
    const { tools } = await sourceOf(operationOf(answerOf(schema)), options);
    expect(await callTool(tools, "api.call", {})).toEqual({ ok: true, value: { id: "one" } });
    expect(declareTools(tools)).toContain("Promise<{ id?: number }>");
  });

  test("that is not described beside others is taken as it is, and the source says so", async () => {
    const { responses } = answerOf({ type: "string" });
    const spec = operationOf({ responses: { ...responses, 202: { content: { "application/json": {} } } } });
    await using server = await served(spec, (_, response) => sendJson(response, { job: 1 }, 202));
    expect(declareTools(server.tools)).toContain("Promise<string>");
    expect(await server.call({})).toEqual({ ok: true, value: { job: 1 } });
    expect(server.problems).toEqual([
      "api.call is not checked as a whole: a part of its result may be anything, because the document does not describe one of its answers.",
    ]);
  });

  test("that is JSON in name only is a failure of the source", async () => {
    await using server = await answeringWith(200, "application/json", "<html>");
    expect(await server.call({})).toMatchObject({ code: "source_unavailable" });
  });

  test.each([
    ["announced", { "content-length": "100000000" }],
    ["not announced", { "transfer-encoding": "chunked" }],
  ])("that is larger than resultBytes, %s, is given up while it is read", async (_, headers) => {
    const closing = Promise.withResolvers<void>();
    await using server = await served(operationOf({}), (_request, response) => {
      response.on("close", closing.resolve);
      response.writeHead(200, { "content-type": "application/json", ...headers });
      writeOn(response, Buffer.alloc(64 * 1024, 32));
    });
    expect(await server.call({}, { resultBytes: 1_000_000 })).toMatchObject({ ok: false, code: "result_too_large" });
    await closing.promise;
  });
});

test("the limits of results are for what shape makes of an answer, and not for the answer", async () => {
  const rows = Array.from({ length: 3000 }, (_, id) => ({ id }));
  await using server = await startServer((_, response) => sendJson(response, rows));
  const count = ({ length }: { readonly length: number }) => length;
  const tooLarge = { ok: false, code: "result_too_large" };
  const shapes = [count, (all: readonly unknown[]) => all, undefined];
  for (const [index, expected] of [{ ok: true, value: 3000 }, tooLarge, tooLarge].entries()) {
    const policy = { ...ALL, shape: shapes[index] };
    const { tools } = await sourceOf(operationOf({}), { baseUrl: server.baseUrl }, policy);
    expect(await callTool(tools, "api.call", {}, { resultBytes: 1000 })).toMatchObject(expected);
  }
});

test("large answers of one tenant that stall leave a place to another tenant's", async () => {
  const stalled = Promise.withResolvers<void>();
  let stalls = 0;
  const spec = specOf({ "/slow": { get: { operationId: "slow" } }, "/export": { get: { operationId: "export" } } });
  await using server = await served(
    spec,
    ({ url }, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      // More than a connection takes unless the host reads it: by then the answer has its place.
      if (url === "/slow") response.write(Buffer.alloc(24_000_000, 32), () => (stalls += 1) === 4 && stalled.resolve());
      else response.end(JSON.stringify("x".repeat(2_000_000)));
    },
    { policies: { ...ALL, timeoutMs: 15_000 } },
  );
  await using runtime = await createRuntime({ tools: server.tools, sandbox });
  const stop = new AbortController();
  const called = (tenant: string, tool: string) =>
    runtime.call({ tool, tenant, input: {}, caller: "programmatic", gather: true, signal: stop.signal });
  let ended = 0;
  const slow = Array.from({ length: 4 }, () => called("ann", "api.slow").finally(() => (ended += 1)));
  await stalled.promise;
  expect(await called("bob", "api.export")).toEqual({ ok: true, value: "x".repeat(2_000_000) });
  expect(ended).toBe(0);
  stop.abort();
  await Promise.allSettled(slow);
});

test("an answer of a few bytes that unpacks to many is given up while it is unpacked", async () => {
  const packed = gzipSync(Buffer.alloc(50_000_000, 32));
  await using server = await served(operationOf({}), (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(packed);
  });
  expect(packed.length).toBeLessThan(100_000);
  expect(await server.call({}, { resultBytes: 1_000_000 })).toMatchObject({ code: "result_too_large" });
});

describe("an answer that is no success", () => {
  test("says nothing of a secret that is cut at the edge of what is read", async () => {
    const secret = "the-secret-of-this-test";
    const said = `broken${" ".repeat(64 * 1024 - 10)}${secret}`;
    await using server = await answeringWith(500, "text/plain", said, {}, { auth: { bearer: secret } });
    const answer = await server.call({});
    expect(answer).toMatchObject({ message: expect.stringMatching(/It says: broken$/) });
  });

  test("is a failure with its status, and a bounded part of what it says in one line", async () => {
    const said = { message: `no such repository \u001b[31m\n${"x".repeat(100_000)}` };
    await using server = await served(operationOf({}), (_, response) => sendJson(response, said, 404));
    const answer = await server.call({});
    expect(answer).toMatchObject(failing("handler_failed", /404 .*: \{"message":"no such repository \\u001b/));
    if (answer.ok) expect.fail();
    expect(answer.message.length).toBeLessThan(2200);
    expect(answer.message).not.toMatch(/\p{Cc}/u);
  });

  test("may go on without an end", async () => {
    await using server = await served(operationOf({}), (_, response) =>
      writeOn(response.writeHead(500, { "content-type": "text/plain" }), "broken ".repeat(1000)),
    );
    expect(await server.call({})).toMatchObject(failing("handler_failed", /500 .*: broken broken/));
  });

  test("is none at all: a failure of the source, which names no address", async () => {
    const { tools } = await sourceOf(operationOf({}));
    const errors: unknown[] = [];
    expect(await callTool(tools, "api.call", {}, { errors })).toEqual({
      ok: false,
      code: "source_unavailable",
      message: "api cannot be reached, or broke off.",
    });
    expect(errors).toMatchObject([{ err: { cause: expect.any(Error) } }]);
  });

  test("breaks off, and says so of a call that changes something", async () => {
    await using server = await served(operationOf({}, "/x", "post"), (_, response) => response.socket?.destroy());
    expect(await server.call({})).toMatchObject(failing("source_unavailable", "may have taken effect"));
    expect(server.arrived).toHaveLength(1);
  });
});

describe("a redirect", () => {
  const redirecting =
    (location: string, status: number) => (request: { readonly url: string }, response: ServerResponse) =>
      request.url.startsWith("/x") ? response.writeHead(status, { location }).end() : sendJson(response, "there");

  test("is followed on the same host, with the credentials", async () => {
    const auth = { apiKey: { in: "query", name: "key", value: "the-key" } } as const;
    await using server = await served(operationOf({}, "/x", "post"), redirecting("/y?z=1", 307), { auth });
    expect(await server.call({})).toEqual({ ok: true, value: "there" });
    expect(server.arrived).toMatchObject([{ method: "POST" }, { method: "POST", url: "/y?z=1&key=the-key" }]);
  });

  test.each([
    [301, ["POST", '{"a":1}']],
    [302, ["GET", ""]],
  ])("of status %i gets %j of a request with a body", async (status, second) => {
    const requestBody = jsonOf({ type: "object" });
    await using server = await served(operationOf({ requestBody }, "/x", "post"), redirecting("/y", status));
    expect(await server.call({ body: { a: 1 } })).toEqual({ ok: true, value: "there" });
    expect(server.arrived.slice(1).map((one) => [one.method, one.body.toString()])).toEqual([second]);
  });

  test.each([
    ["another host", (port: number) => `http://localhost:${port}/y`],
    ["another scheme", (port: number) => `https://127.0.0.1:${port}/y`],
    ["a host without a scheme", () => "//evil.example/y"],
    ["a host behind backslashes", () => "\\\\evil.example/y"],
    ["data", () => "data:application/json,1"],
  ])("to %s is not followed, and carries nothing there", async (_, location) => {
    await using other = await startServer();
    let own = 0;
    await using server = await startServer((_request, response) =>
      response.writeHead(302, { location: location(_ === "another host" ? own : other.port) }).end(),
    );
    own = server.port;
    const { tools } = await sourceOf(operationOf({}), { baseUrl: server.baseUrl, auth: { bearer: "the-secret" } });
    expect(await callTool(tools, "api.call", {})).toMatchObject(failing("handler_failed", "302"));
    expect([server.arrived.length, other.arrived]).toEqual([1, []]);
  });

  test("that never ends is given up", async () => {
    await using server = await served(operationOf({}), (_, response) =>
      response.writeHead(302, { location: "/x" }).end(),
    );
    expect(await server.call({})).toMatchObject({
      message: expect.stringContaining("more than 5 times"),
    });
    expect(server.arrived).toHaveLength(6);
  });
});

describe("Retry-After", () => {
  const busyOnce = (status: number, after: string) => {
    let asked = 0;
    return (_: unknown, response: ServerResponse) =>
      (asked += 1) === 1 ? sendJson(response, "busy", status, { "retry-after": after }) : sendJson(response, "done");
  };

  test.each([429, 503])("of status %i is waited for by a call that only reads", async (status) => {
    await using server = await served(operationOf({}), busyOnce(status, "0"));
    expect(await server.call({})).toEqual({ ok: true, value: "done" });
    expect(server.arrived).toHaveLength(2);
  });

  test.each([
    ["that changes something", "post", 429, "2", {}, "It asks to wait 2 s. It says"],
    ["without a time to wait", "get", 429, "soon", {}, "(Too Many Requests). It says"],
    ["that may not take as long", "get", 429, "60", { timeoutMs: 5000 }, "60 s, longer than this call may take."],
    ["with another status", "get", 500, "0", {}, "(Internal Server Error). It says"],
    ["that its policy says changes something", "get", 429, "0", { effect: "write" }, "It asks to wait 0 s."],
  ] as const)("is a failure at once for a call %s", async (_, method, status, after, policy, says) => {
    await using server = await served(operationOf({}, "/x", method), busyOnce(status, after), {
      policies: { ...ALL, ...policy },
    });
    const { code, message } = (await server.call({})) as { code: string; message: string };
    expect([code, message]).toEqual(["handler_failed", expect.stringContaining(`status ${status} `)]);
    expect(message).toContain(says);
    expect(server.arrived).toHaveLength(1);
  });

  test.each([
    [429, "throw", false],
    [429, "catch", false],
    [503, "throw", true],
    [503, "catch", true],
  ] as const)(
    "of status %i, and only when to try again is told of a write that was refused: %s",
    async (status, way, may) => {
      await using server = await served(
        operationOf({}, "/x", "post"),
        (_, response) => sendJson(response, "busy", status, { "retry-after": "2" }),
        { policies: { ...ALL, approval: "never" } },
      );
      await using runtime = await createRuntime({ tools: server.tools, sandbox, journal: createMemoryJournal() });
      const { output, calls, execution } = await runtime.execute(
        way === "throw"
          ? "await tools.api.call({});"
          : "try { await tools.api.call({}); } catch ({ message }) { return message; }",
      );
      expect(output.text).toContain("It asks to wait 2 s.");
      expect(/may have taken effect/.test(output.text)).toBe(may);
      expect(calls).toMatchObject([{ outcome: { code: "handler_failed" }, started: may }]);
      expect((await runtime.execution(execution).resume()).calls).toMatchObject([{ started: may }]);
    },
  );

  test("after a redirect, or in a handler that does more, tells of no call that was not begun", async () => {
    await using server = await startServer((request, response) =>
      request.url === "/x" && request.method === "POST"
        ? response.writeHead(303, { location: "/made" }).end()
        : sendJson(response, "busy", 429),
    );
    const sources = ["/x", "/y"].map((path) =>
      sourceOf(operationOf({}, path, "post"), { baseUrl: server.baseUrl }, { ...ALL, approval: "never" }),
    );
    const [moved, busy] = (await Promise.all(sources)).flatMap(({ tools }) => tools);
    if (!moved || typeof busy?.execute !== "function") throw new Error("Each source has a tool.");
    const { execute } = busy;
    const composed = makeTool({ name: "own.call", effect: "write", execute: (_, context) => execute({}, context) });
    await using runtime = await createRuntime({ tools: [moved, composed], sandbox });
    for (const name of ["api.call", "own.call"])
      expect((await runtime.execute(`await tools.${name}({});`)).calls).toMatchObject([{ started: true }]);
  });

  test("of a call that was made before may have taken effect all the same", async () => {
    let asked = 0;
    await using server = await served(operationOf({}, "/x", "put"), (_, response) =>
      sendJson(response, "busy", (asked += 1) === 1 ? 500 : 429),
    );
    const retried = server.tools.map((tool) => ({ ...tool, retry: { attempts: 2, delayMs: 1, on: () => true } }));
    await using runtime = await createRuntime({ tools: retried, sandbox });
    const { calls } = await runtime.execute("await tools.api.call({});");
    expect(calls).toMatchObject([{ started: true, attempts: 2 }]);
  });

  test("ends with the call", async () => {
    const cancelling = new AbortController();
    await using server = await served(operationOf({}), (_, response) => {
      sendJson(response, "busy", 503, { "retry-after": "30" });
      cancelling.abort();
    });
    expect(await server.call({}, { signal: cancelling.signal })).toMatchObject({
      ok: false,
      code: "cancelled",
    });
    expect(server.arrived).toHaveLength(1);
  });
});

test("effects follow from the methods, and a policy may say otherwise", async () => {
  const methods = ["get", "head", "put", "delete", "post", "patch", "options"];
  const spec = specOf({ "/x": Object.fromEntries(methods.map((method) => [method, { operationId: method }])) });
  const { tools } = await sourceOf(spec, {}, (name) => ({
    ...ALL,
    ...(name === "api.post" ? { effect: "read" } : {}),
  }));
  expect(Object.fromEntries(tools.map(({ name, effect }) => [name, effect]))).toEqual({
    "api.get": "read",
    "api.head": "read",
    "api.put": "idempotent",
    "api.delete": "idempotent",
    "api.post": "read",
    "api.patch": "write",
    "api.options": "write",
  });
});
