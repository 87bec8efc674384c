import { setImmediate as nextTurn } from "node:timers/promises";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { fromMcp, type McpServer } from "../../../src/index.ts";
import { makeServer } from "./fixtures/modern-server.ts";
import { type AnswerCall, type HttpServer, serve, serveByHand, serveFetch } from "./http-servers.ts";
import { someOf, testOfAll } from "../../support/all-tests.ts";
import { call, READ, run, WRITE } from "./servers.ts";
import { failing } from "../../support/failing.ts";

const sourceOf = ({ url }: HttpServer, more: Partial<McpServer> = {}) => fromMcp({ name: "web", url, ...more }, READ);

/** A server of the package, and its handler, which ends with the test. */
async function serveModern(make: () => ReturnType<typeof makeServer> = () => makeServer()) {
  const handler = createMcpHandler(make);
  onTestFinished(() => handler.close());
  return { ...(await serveFetch((request) => handler.fetch(request))), handler };
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

// ---- both versions of the protocol -------------------------------------------------------------------------------

describe.each(["auto", "2025-11-25", "2026-07-28"] as const)("a server of the package, protocol %s", (protocol) => {
  test("is called, and its values are typed", async () => {
    await using server = await serveModern();
    await using source = await sourceOf(server, { protocol });
    expect(await call(source.tools, 'web.shout({ text: "hi" })')).toEqual({ loud: "HI" });
    const isModern = server.headers.some((headers) => headers["mcp-method"] === "tools/call");
    expect(isModern).toBe(protocol !== "2025-11-25");
  });
});

test.each<[string, number, object | string]>([
  ["400 and an error without an id", 400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "No" } }],
  ["400 and a page", 400, "<html>"],
  ["404", 404, ""],
  ["405", 405, { error: "Method not allowed" }],
  ["422", 422, { detail: "no such method" }],
])(
  "a server that refuses the first request of the new version by %s is asked in the old one",
  async (_what, status, body) => {
    await using old = await serveByHand(({ send }) => send(text("called")));
    await using server = await serveFetch(async (request) => {
      const asked = await request.text();
      if (asked.includes('"server/discover"'))
        return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
      const { method, headers } = request;
      return fetch(old.url, { method, headers, ...(asked === "" ? {} : { body: asked }) });
    });
    await using source = await sourceOf(server);
    expect(await call(source.tools, "web.echo({})")).toBe("called");
  },
);

test("in the new version a server that needs an answer gets it from approve, and the call goes on", async () => {
  await using server = await serveModern();
  await using source = await fromMcp({ name: "web", url: server.url }, WRITE);
  const approve = vi.fn(({ input }: { readonly input: unknown }) => JSON.stringify(input).includes("a.txt"));
  expect(await call(source.tools, 'web.remove({ file: "a.txt" })', { approve })).toBe("removed a.txt");
  expect(await call(source.tools, 'web.remove({ file: "b.txt" })', { approve })).toBe("kept b.txt");
  expect(await call(source.tools, 'web.remove({ file: "a.txt" })')).toBe("kept a.txt");
  expect(approve).toHaveBeenCalledTimes(2);
});

test.each([
  [
    "and the person declines, is asked once more and asks the person once",
    "nag({})",
    () => false,
    2,
    1,
    "It was declined",
  ],
  ["and nothing decides", "nag({})", undefined, 2, 0, "It was declined"],
  ["and the person allows it, gets ten requests", "nag({})", () => true, 10, 9, "breaks the protocol"],
  ["without a question, gets ten requests", 'nag({ how: "silently" })', () => true, 10, 0, "breaks the protocol"],
])(
  "in the new version a server that asks for input without end, %s",
  async (_what, expression, decide, requests, questions, message) => {
    let nagged = 0;
    await using server = await serveModern(() => makeServer(() => (nagged += 1)));
    await using source = await sourceOf(server);
    const approve = decide && vi.fn(decide);
    const answer = await call(source.tools, `web.${expression}`, approve ? { approve } : {});
    expect(answer).toMatchObject({ message: expect.stringContaining(message) });
    expect([nagged, approve?.mock.calls.length ?? 0]).toEqual([requests, questions]);
  },
);

test("in the new version fields that a schema marks are sent as headers too", async () => {
  await using server = await serveModern();
  await using source = await sourceOf(server);
  expect(await call(source.tools, 'web.region({ region: "eu" })')).toBe("eu");
  expect(await call(source.tools, 'web.region({ region: "Köln" })')).toBe("Köln");
  const sent = server.headers.flatMap((headers) => headers["mcp-param-region"] ?? []);
  expect(sent).toEqual(["eu", `=?base64?${Buffer.from("Köln").toString("base64")}?=`]);
});

test("in the new version a change of the list is told over a subscription", async () => {
  const { promise: changed, resolve: onSourceChange } = Promise.withResolvers();
  let tools = 0;
  await using server = await serveModern(() => {
    const server = makeServer();
    tools += 1;
    if (tools > 4) server.registerTool("later", { description: "Later" }, () => text("later"));
    return server;
  });
  await using source = await sourceOf(server, { onSourceChange });
  tools = 10;
  server.handler.notify.toolsChanged();
  expect(await changed).toEqual({ source: "web", added: ["later"], removed: [], changed: [] });
  expect(await call(source.tools, "web.later({})")).toBe("later");
});

// ---- where requests go -------------------------------------------------------------------------------------------

test("headers are sent with each request, and to no other host, whatever a redirect says", async () => {
  await using other = await serve((_request, _body, response) => response.writeHead(200).end());
  let isMoved = false;
  await using server = await serveByHand(({ response, send }) =>
    isMoved ? response.writeHead(307, { location: other.url }).end() : send(text("here")),
  );
  await using source = await sourceOf(server, { headers: { authorization: "Bearer secret-0123456789" } });
  expect(await call(source.tools, "web.echo({})")).toBe("here");
  expect(new Set(server.headers.map(({ authorization }) => authorization))).toEqual(
    new Set(["Bearer secret-0123456789"]),
  );
  isMoved = true;
  const answer = await call(source.tools, "web.echo({})");
  expect(answer).toEqual(failing("source_unavailable", /web\.echo .*307/));
  expect(other.headers).toEqual([]);
});

test("a server that shows what it was sent gives a program no secret of it, however large its result, and all the rest", async () => {
  const headers = { "x-api-key": "key-0123456789", "x-region": "eu-central-1" };
  const long = `${"x".repeat(100_000)} key-0123456789`;
  await using server = await serveByHand(({ send }) =>
    send({
      content: [{ type: "text", text: "shown" }],
      structuredContent: { headers, long, many: [Array.from({ length: 70_000 }, () => 1), "key-0123456789"] },
    }),
  );
  await using source = await sourceOf(server, { headers });
  const program = `const { structuredContent: { headers, long, many } } = await tools.web.echo({});
    return [headers["x-region"], headers["x-api-key"], long.slice(100_000), many[0].length, many[1]];`;
  const { outcome } = await run(source.tools, program);
  expect(outcome).toMatchObject({ value: ["eu-central-1", "[secret]", " [secret]", 70_000, "[secret]"] });
});

// ---- answers that break --------------------------------------------------------------------------------------------

const EVENTS = { "content-type": "text/event-stream" };

const BROKEN: readonly (readonly [string, AnswerCall, string])[] = [
  ["an ended stream", ({ response }) => response.writeHead(200, EVENTS).end(": hello\n\n"), "cannot be reached"],
  [
    "a stream that breaks off",
    ({ response }) => {
      response.writeHead(200, EVENTS).write('data: {"jsonrpc":"2.0",');
      setImmediate(() => response.destroy());
    },
    "cannot be reached",
  ],
  [
    "an answer to another request",
    ({ response }) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"jsonrpc":"2.0","id":"other","result":{"content":[]}}'),
    "sent an answer that breaks the protocol",
  ],
  ["no answer at all", ({ response }) => response.writeHead(202).end(), "sent an answer that breaks the protocol"],
  [
    "what is not JSON",
    ({ response }) => response.writeHead(200, { "content-type": "application/json" }).end("{"),
    "sent an answer that breaks the protocol",
  ],
  ["a status", ({ response }) => response.writeHead(503).end("x".repeat(1_000_000)), "answered with the status 503"],
];

test.each(BROKEN)("a call fails at once where the server sends %s", async (_what, answerCall, message) => {
  await using server = await serveByHand(answerCall);
  await using source = await sourceOf(server);
  expect(await call(source.tools, "web.echo({})")).toEqual(
    failing("source_unavailable", `The server of web.echo ${message}`),
  );
});

test("a call whose stream broke off is sent again if it only reads, and never if it writes", async () => {
  let calls = 0;
  await using server = await serveByHand(({ response, send }) => {
    calls += 1;
    return calls === 1 ? response.writeHead(200, EVENTS).end() : send(text("second"));
  });
  await using reading = await sourceOf(server);
  expect(await call(reading.tools, "web.echo({})")).toBe("second");
  calls = 0;
  await using writing = await fromMcp({ name: "web", url: server.url }, WRITE);
  expect(await call(writing.tools, "web.echo({})")).toMatchObject(
    failing("source_unavailable", "may have taken effect"),
  );
  expect(calls).toBe(1);
});

test.each([
  [900, true, "called"],
  [2000, false, { code: "source_unavailable" }],
])(
  "answers to what a server asks are sent one after the other, and a server that takes none is left: %i",
  async (count, takes, told) => {
    let [open, most, answered] = [0, 0, 0];
    let finish = () => {};
    await using asking = await serveByHand(({ id: call, response }) => {
      const write = (message: object) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      response.writeHead(200, EVENTS);
      for (let id = 0; id < count; id += 1) write({ id, method: "ping" });
      finish = () => write({ id: call, result: text("called") });
    });
    await using server = await serveFetch(async (request) => {
      const body = await request.text();
      const { method, headers } = request;
      if (!body.includes('"result"')) return fetch(asking.url, { method, headers, ...(body === "" ? {} : { body }) });
      most = Math.max(most, (open += 1));
      await (takes ? nextTurn() : new Promise(() => {}));
      open -= 1;
      if ((answered += 1) === count) finish();
      return new Response(null, { status: 202 });
    });
    await using source = await fromMcp({ name: "web", url: server.url }, WRITE);
    const got = await call(source.tools, "web.echo({})");
    expect(got).toEqual(typeof told === "string" ? told : expect.objectContaining(told));
    expect(most).toBeLessThanOrEqual(1);
  },
);

const FORMS = [
  ["in an event", (body: string) => [EVENTS, `data: ${body}\n\n`] as const],
  ["in one document", (body: string) => [{ "content-type": "application/json" }, body] as const],
] as const;
test.each(someOf(FORMS, 1))(
  "a result that is larger than resultBytes stops without being parsed, %s",
  async (_how, form) => {
    await using server = await serveByHand(({ id, name, response, send }) => {
      if (name === "other") return send(text("small"));
      const body = JSON.stringify({ jsonrpc: "2.0", id, result: text("x".repeat(4_000_000)) });
      const [headers, whole] = form(body);
      response
        .on("error", () => {})
        .writeHead(200, headers)
        .end(whole);
    });
    await using source = await sourceOf(server);
    const program = `const failed = await tools.web.echo({}).catch(({ code }) => code);
    return [failed, await tools.web.other({})]`;
    const { outcome } = await run(source.tools, program, { limits: { resultBytes: 1024 * 1024 } });
    expect(outcome).toMatchObject({ value: ["result_too_large", "small"] });
    const whole = await run(source.tools, "return (await tools.web.echo({})).length");
    expect(whole.outcome).toMatchObject({ value: 4_000_000 });
  },
);

const DEEP = `${"[".repeat(8000)}${"]".repeat(8000)}`;

test.each<[string, (id: string) => string]>([
  ["a deep result", (id) => `{"jsonrpc":"2.0","id":"${id}","result":{"content":[],"structuredContent":${DEEP}}}`],
  ["a deep error", (id) => `{"jsonrpc":"2.0","id":"${id}","error":{"code":1,"message":"m","data":${DEEP}}}`],
  ["a result that is a list", (id) => `{"jsonrpc":"2.0","id":"${id}","result":[]}`],
  ["an answer without a version", (id) => `{"id":"${id}","result":{"content":[]}}`],
])("a call that was answered is made once, whatever the answer is: %s", async (_what, answer) => {
  let calls = 0;
  await using server = await serveByHand(({ id, name, response }) => {
    calls += 1;
    const [headers, body] =
      name === "echo"
        ? [{ "content-type": "application/json" }, answer(String(id))]
        : [EVENTS, `data: ${answer(String(id))}\n\n`];
    response.writeHead(200, headers).end(body);
  });
  await using source = await sourceOf(server);
  for (const expression of ["web.echo({})", "web.other({})"]) {
    calls = 0;
    const { outcome } = await run(source.tools, `return tools.${expression}.catch(({ code }) => code)`);
    expect(outcome.type).toBe("completed");
    expect([expression, calls]).toEqual([expression, 1]);
  }
});

const NO_SESSION = { code: -32000, message: "Bad Request: No valid session ID provided" };

test.each<[string, number, (id: unknown) => object | string]>([
  ["400 and an error without an id", 400, () => ({ jsonrpc: "2.0", id: null, error: NO_SESSION })],
  ["401", 401, () => ({})],
  ["403 and a page", 403, () => "<html>"],
  ["404", 404, () => ""],
  ["410", 410, () => ""],
  ["422", 422, () => ({ detail: "no session" })],
  ["500", 500, () => ({ error: "Session not found" })],
  ["an error of the protocol", 200, (id) => ({ jsonrpc: "2.0", id, error: NO_SESSION })],
  ["an error without an id", 200, () => ({ jsonrpc: "2.0", id: null, error: NO_SESSION })],
])("a session that a server has forgotten, and refuses by %s, is opened again", async (_what, status, body) => {
  let [opened, known, made] = [0, "s1", 0];
  await using server = await serveByHand(({ send }) => send(text(`made ${(made += 1)}`)), {
    session: () => (known = `s${(opened += 1)}`),
    refuses({ headers }, response, id) {
      const given = headers["mcp-session-id"];
      if (given === undefined || given === known) return false;
      const said = body(id);
      return response
        .writeHead(status, { "content-type": "application/json" })
        .end(typeof said === "string" ? said : JSON.stringify(said));
    },
  });
  const protocol = "2025-11-25";
  await using reading = await sourceOf(server, { protocol });
  known = "of another process";
  const answers = "return Promise.all([1, 2, 3].map(() => tools.web.echo({})))";
  expect((await run(reading.tools, answers)).outcome).toMatchObject({ type: "completed" });
  expect([opened, made]).toEqual([2, 3]);
  await using writing = await fromMcp({ name: "web", url: server.url, protocol }, WRITE);
  known = "of another process";
  expect(await call(writing.tools, "web.echo({})")).toMatchObject({ code: "source_unavailable" });
  expect(made).toBe(3);
  expect(await call(writing.tools, "web.echo({})")).toBe("made 4");
});

test("a call that is refused in a session which the server knows leaves the session open, and is told in its words", async () => {
  let sessions = 0;
  const error = { message: "city: unknown" };
  await using server = await serveByHand(({ response }) => response.writeHead(400).end(JSON.stringify({ error })), {
    session: () => `s${(sessions += 1)}`,
  });
  await using source = await sourceOf(server, { protocol: "2025-11-25" });
  for (let n = 0; n < 5; n += 1)
    expect(await call(source.tools, "web.echo({})")).toMatchObject({
      message: 'The server of web.echo answered with the status 400, and says: "city: unknown".',
    });
  expect(sessions).toBe(1);
});

testOfAll(
  "a server that ends its stream of notifications, and asks for another at once, gets one in a second",
  async () => {
    const at: number[] = [];
    const thrice = Promise.withResolvers();
    await using server = await serveByHand(() => {}, {
      session: () => "session",
      stream: (response) => {
        at.push(performance.now());
        if (at.length === 3) thrice.resolve(undefined);
        response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 0\nid: 1\ndata: \n\n");
      },
    });
    await using source = await sourceOf(server);
    await thrice.promise;
    expect(source.tools).toHaveLength(2);
    const [first = 0, second = 0, third = 0] = at;
    // Timers of node may fire a millisecond early.
    expect(Math.min(second - first, third - second)).toBeGreaterThan(900);
  },
);

test.each([
  ["a host that is not there", "http://nothing.invalid/mcp", /its host is not known here \(E\w+: .*nothing\.invalid/],
  ["a port on which nothing listens", "closed", /nothing listens at its address \(ECONNREFUSED/],
  ["https of a server without TLS", "https", /does not speak TLS there.*http:\/\/.*wrong version/],
])("why %s was not reached is told to the developer", async (_what, address, told) => {
  await using server = await serve(() => {});
  const closed = await serve(() => {});
  await closed[Symbol.asyncDispose]();
  const url = { https: server.url.replace("http:", "https:"), closed: closed.url }[address] ?? address;
  await expect(fromMcp({ name: "web", url }, READ)).rejects.toMatchObject(failing("source_unavailable", told));
});

test("a server that does not answer is given up after connectTimeoutMs", async () => {
  await using server = await serve(() => {});
  await expect(sourceOf(server, { connectTimeoutMs: 200 })).rejects.toMatchObject({
    message: expect.stringContaining("did not list its tools within 200 ms"),
  });
});
