import { once } from "node:events";
import { connect } from "node:net";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { STATUS_OF } from "../../src/serve/http/problems.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { KEYS, keyOf, openServer } from "./servers.ts";

const isAll = process.env["PORTCULLIS_TESTS"] === "all";
const RUNS = isAll ? 10_000 : 1500;

const ids = [
  "e",
  "never",
  "%2F",
  "..%2f..",
  "%00",
  "a%2Fb",
  "%ff",
  "é",
  "*",
  "__proto__",
  "constructor",
  "x".repeat(9000),
];
const paths = fc.oneof(
  fc.constantFrom("/v1/executions", "/healthz", "/readyz", "/metrics", "/openapi.json", "/mcp", "/", "/page.js"),
  fc
    .tuple(
      fc.constantFrom(...ids),
      fc.constantFrom("", "/events", "/decisions", "/results", "/cancel", "/view", "/calls/1", "/calls/%2F", "/x"),
    )
    .map(([id, rest]) => `/v1/executions/${id}${rest}`),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => `/${encodeURIComponent(text.toWellFormed())}`),
);
const queries = fc.oneof(
  fc.constant(""),
  fc.constantFrom(
    "?state=ended",
    "?limit=0",
    "?limit=9e9",
    "?cursor=-1",
    "?state=x",
    "?a=1&a=2",
    "?__proto__=1",
    "?text=%00",
  ),
);
const methods = fc.constantFrom("GET", "GET", "POST", "POST", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD");
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>({ allow: true }, { value: 1 }, { error: "no" }, { done: { value: 1 } }, -0, "", "\u0000"),
);
const name = fc.constantFrom("1", "__proto__", "constructor", "toString", "", "call_1/2", "x".repeat(300), "\ud800");
const body = fc.oneof(
  fc.constantFrom(
    "",
    "{",
    "[]",
    "null",
    "1",
    '"x"',
    "[".repeat(20_000),
    '{"a":'.repeat(20_000),
    "\u0000",
    '{"program":1e999}',
  ),
  fc.record(
    {
      program: fc.oneof(fc.constantFrom<unknown>("return 1", "return (", "throw 1", "", 1, null), fc.string()),
      language: fc.oneof(fc.constantFrom<unknown>("javascript", "python", "cobol", 4), fc.string()),
      limits: fc.oneof(value, fc.record({ calls: fc.oneof(fc.integer(), fc.double(), value) })),
      execution: fc.oneof(
        fc.constantFrom<unknown>("e", "bolt:e", "acme:e", "", " ", "\u0000", "\ud800", 7),
        fc.string(),
      ),
      wait: value,
    },
    { requiredKeys: [] },
  ),
  fc.record({ decisions: fc.oneof(value, fc.dictionary(name, value)) }),
  fc.record({ results: fc.oneof(value, fc.dictionary(name, value)) }),
  value,
);
const headers = fc.record(
  {
    authorization: fc.constantFrom(
      "",
      "Bearer",
      "Bearer x",
      "Basic YTpi",
      `bearer ${keyOf("ann")}`,
      `Bearer ${keyOf("bob")}`,
    ),
    "content-type": fc.constantFrom("text/plain", "application/json; charset=x", "application/JSON", "", ";"),
    "content-length": fc.constantFrom("-1", "x", "99999999999", "0"),
    "last-event-id": fc.constantFrom("", "0", "1.1", "-1", "9".repeat(40), "x"),
    origin: fc.constantFrom("null", "http://localhost", "http://evil.example", "http://localhost.evil.example", ""),
    host: fc.constantFrom("localhost", "localhost:1", "evil.example", "", "[::1]", "[", "localhost\u00e9"),
  },
  { requiredKeys: [] },
);

const heap = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

test(
  `${RUNS} mutated requests: each is answered with a status of the table, none fails the server`,
  { timeout: 300_000 },
  async () => {
    await using door = await openServer();
    await door.ask("POST", "/v1/executions", {
      body: { program: "return await tools.bank.pay({ amount: 1 })", execution: "e" },
    });
    const codes = new Set<string>();
    const before = heap();
    await fc.assert(
      fc.asyncProperty(methods, paths, queries, body, headers, async (method, path, query, sent, given) => {
        let request: Request;
        try {
          request = new Request(`http://localhost${path}${query}`, {
            method,
            headers: { authorization: `Bearer ${keyOf("ann")}`, "content-type": "application/json", ...given },
            ...(method === "GET" || method === "HEAD"
              ? {}
              : { body: typeof sent === "string" ? sent : JSON.stringify(sent) }),
          });
        } catch {
          // No client can send that.
          return;
        }
        const response = await door.server.fetch(request);
        const isStream = response.headers.get("content-type") === "text/event-stream";
        if (isStream) {
          await response.body?.cancel();
          return;
        }
        const text = await response.text();
        expect(response.status).not.toBe(500);
        if (response.status < 400 || method === "HEAD" || path === "/mcp") return;
        const { error } = JSON.parse(text) as {
          readonly error: { readonly code: keyof typeof STATUS_OF; readonly message: string };
        };
        codes.add(error.code);
        expect(STATUS_OF[error.code]).toBe(response.status);
        expect(error.code).not.toBe("server_failed");
        expect(error.message).not.toMatch(/\bat .+:\d+:\d+|node_modules|\/src\//);
        expect(error.message).not.toMatch(/Invalid input|Too (?:small|big)|Invalid option|[<>]=/);
        expect(error.message.length).toBeLessThan(2000);
      }),
      {
        numRuns: RUNS,
        // One for each code that is expected below: those that are drawn may miss it.
        examples: [
          ["POST", "/v1/executions", "", {}, {}],
          ["GET", "/v1/executions/never", "", "", {}],
          ["GET", "/v1/executions", "", "", { authorization: "Bearer x" }],
          ["PUT", "/v1/executions", "", "", {}],
        ],
      },
    );
    expect(door.errors).toEqual([]);
    expect([...codes]).toEqual(
      expect.arrayContaining(["request_invalid", "execution_unknown", "key_unknown", "method_unknown"]),
    );
    expect((await door.ask("POST", "/v1/executions", { body: { program: "return 2" } })).json.outcome.value).toBe(2);
    await door.server.close({ drainMs: 10_000 });
    expect(heap() - before).toBeLessThan(48 * 1024 * 1024);
  },
);

test("a body of 20 MB is refused by its length before it is read, and by its size where it says none", async () => {
  await using door = await openServer();
  let pulled = 0;
  const sent = (headers: Record<string, string>) => {
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        if (pulled > 320) controller.close();
        else controller.enqueue(new Uint8Array(64 * 1024).fill(32));
      },
    });
    return door.server.fetch(
      new Request("http://localhost/v1/executions", {
        method: "POST",
        headers: { authorization: `Bearer ${keyOf("ann")}`, "content-type": "application/json", ...headers },
        body: stream,
        duplex: "half",
      } as RequestInit),
    );
  };
  expect((await sent({ "content-length": "20971520" })).status).toBe(413);
  expect(pulled).toBeLessThan(3);
  pulled = 0;
  expect((await sent({})).status).toBe(413);
  expect(pulled).toBeLessThan(80);
});

test("a value that is nested as deeply as a body allows is refused, and the call waits on", async () => {
  await using door = await openServer();
  const body = { program: "return await tools.desk.ask({})", execution: "deep" };
  await door.ask("POST", "/v1/executions", { body });
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;
  for (const sent of [
    `{"results":{"1":{"value":${deep}}}}`,
    `{"decisions":{"1":{"done":{"value":${deep}}}}}`,
    `{"program":${deep}}`,
    `{"limits":${deep}}`,
    deep,
  ])
    for (const path of ["/v1/executions", "/v1/executions/deep/results", "/v1/executions/deep/decisions"]) {
      const { status } = await door.ask("POST", path, { body: sent });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }
  expect((await door.ask("GET", "/v1/executions/deep")).json.state).toBe("waiting");
});

test("a HEAD of a stream leaves nothing open", async () => {
  await using door = await openServer();
  const body = { program: "return await tools.bank.pay({ amount: 1 })", execution: "w" };
  await door.ask("POST", "/v1/executions", { body });
  const head = await door.ask("HEAD", "/v1/executions/w/events");
  expect([head.status, head.text]).toEqual([200, ""]);
  const { text } = await door.ask("GET", "/metrics", { key: keyOf("ops") });
  expect(text).toContain("portcullis_event_streams 0");
});

/** What a server answers to bytes that are sent as they are. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    answer += String(chunk);
  });
  socket.on("error", () => {});
  socket.write(bytes);
  await once(socket, "close");
  return answer;
}

test.each([
  ["what is no HTTP", "hello\r\n\r\n", 400],
  ["headers without an end", `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(40_000)}`, 431],
  ["a request that does not come", "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\n", 408],
  ["two lengths", "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx", 400],
  [
    "a length and chunks",
    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
  ],
  ["no host", "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
  [
    "an address in place of a path",
    "GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    401,
  ],
])("%s is answered with a status and a body, and the connection ends", async (_, bytes, status) => {
  await using door = await openServer({ keys: KEYS, headersMs: 300, requestMs: 400 });
  const { url } = await door.server.listen({ port: 0 });
  const answer = await raw(Number(new URL(url).port), bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});
