import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { fromMcp } from "../../../src/index.ts";
import { type AnswerCall, type HttpServer, serveByHand, serveFetch } from "./http-servers.ts";
import { call, WRITE } from "./servers.ts";
import { someOf } from "../../support/all-tests.ts";
import { failing } from "../../support/failing.ts";

const EVENTS = { "content-type": "text/event-stream" };

/** A request that a stream is resumed by. */
type AnswerResume = (facts: {
  readonly lastEvent: string;
  readonly response: ServerResponse;
  /** The answer of the latest call, as an event. */
  readonly answer: (text: string) => string;
}) => unknown;

interface Breaking extends HttpServer {
  readonly counts: { calls: number; resumes: number };
}

/** A server of the old version that begins its answer of a call by `begin`, and goes on with it by `resume`. */
async function serveBreaking(
  begin: (response: ServerResponse, facts: Parameters<AnswerCall>[0]) => unknown,
  resume: AnswerResume,
): Promise<Breaking> {
  const counts = { calls: 0, resumes: 0 };
  let latest: string | number = "";
  const server = await serveByHand(
    (facts) => {
      counts.calls += 1;
      latest = facts.id;
      begin(facts.response.writeHead(200, EVENTS), facts);
    },
    {
      session: () => "session",
      stream: (response, { headers }) => {
        const lastEvent = headers["last-event-id"];
        if (lastEvent === undefined) return response.writeHead(405).end();
        const answer = (text: string) =>
          `data: ${JSON.stringify({ jsonrpc: "2.0", id: latest, result: { content: [{ type: "text", text }] } })}\n\n`;
        counts.resumes += 1;
        return resume({ lastEvent: String(lastEvent), response, answer });
      },
    },
  );
  return Object.assign(server, { counts });
}

/** Ends a stream in the midst of an event. */
const breakOff = (response: ServerResponse): void => {
  response.write('data: {"jsonrpc":');
  setImmediate(() => response.destroy());
};

const sourceOf = ({ url }: HttpServer, policy: object = WRITE) =>
  fromMcp({ name: "web", url, protocol: "2025-11-25" }, policy as typeof WRITE);

const priming = (id: string, more = "") => `id: ${id}\n${more}data: \n\n`;

// ---- what is resumed -------------------------------------------------------------------------------------------------

const ENDS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
  ["in the midst of an event", breakOff],
  ["between two events", (response) => void response.end()],
];

test.each(someOf(ENDS, 1))(
  "a call that writes, and whose stream breaks %s, is made once and answered by the rest of its stream",
  async (_, end) => {
    await using server = await serveBreaking(
      (response, { id }) => {
        response.write(priming("one", "retry: 1\n"));
        const params = { level: "info", data: id };
        const notice = { jsonrpc: "2.0", method: "notifications/message", params };
        response.write(`id: two\ndata: ${JSON.stringify(notice)}\n\n`);
        end(response);
      },
      ({ lastEvent, response, answer }) => response.writeHead(200, EVENTS).end(answer(`after ${lastEvent}`)),
    );
    await using source = await sourceOf(server);
    expect(await call(source.tools, "web.echo({})")).toBe("after two");
    expect(server.counts).toEqual({ calls: 1, resumes: 1 });
    const resumed = server.headers.find((headers) => headers["last-event-id"] !== undefined);
    expect(resumed).toMatchObject({
      "mcp-session-id": "session",
      accept: expect.stringContaining("text/event-stream"),
    });
  },
);

test.each<[string, AnswerResume, number]>([
  ["ends before another event", ({ response }) => response.writeHead(200, EVENTS).end(), 3],
  ["is not given at first", ({ response }) => response.writeHead(429).end(), 3],
])("a stream whose rest %s is resumed after the same event", async (_, first, resumes) => {
  await using server = await serveBreaking(
    (response) => void response.end(priming("one", "retry: 1\n")),
    (facts) => {
      if (server.counts.resumes < resumes) return first(facts);
      return facts.response.writeHead(200, EVENTS).end(facts.answer(`after ${facts.lastEvent}`));
    },
  );
  await using source = await sourceOf(server);
  expect(await call(source.tools, "web.echo({})")).toBe("after one");
  expect(server.counts).toEqual({ calls: 1, resumes });
});

// ---- what is not ---------------------------------------------------------------------------------------------------

test("from 2026-07-28 on no stream is resumed: its end is the end of the call", async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "modern", version: "1" });
    server.registerTool("echo", { description: "Echo" }, () => ({ content: [] }));
    return server;
  });
  const asked: string[] = [];
  await using server = await serveFetch(async (request) => {
    asked.push(request.method);
    if (request.headers.get("mcp-method") !== "tools/call") return handler.fetch(request);
    return new Response(priming("one", "retry: 1\n"), { headers: EVENTS });
  });
  await using source = await fromMcp({ name: "web", url: server.url, protocol: "2026-07-28" }, WRITE);
  expect(await call(source.tools, "web.echo({})")).toMatchObject({ code: "source_unavailable" });
  expect(asked).not.toContain("GET");
  await handler.close();
});

test("a call that is cancelled while its stream is broken asks for no rest of it", async () => {
  const broken = Promise.withResolvers<void>();
  await using server = await serveBreaking(
    (response) => {
      response.end(priming("one", "retry: 50000\n"));
      broken.resolve();
    },
    () => {},
  );
  await using source = await fromMcp({ name: "web", url: server.url, protocol: "2025-11-25", timeoutMs: 300 }, WRITE);
  expect(await call(source.tools, "web.echo({})")).toMatchObject({ code: "handler_timed_out" });
  await broken.promise;
  expect(server.counts).toEqual({ calls: 1, resumes: 0 });
});

// ---- hostile servers -------------------------------------------------------------------------------------------------

const LONG = "x".repeat(1024 * 1024);

const BEGUN = priming("1", "retry: 0\n");
const refusing =
  (status: number): AnswerResume =>
  ({ response }) =>
    response.writeHead(status).end();
const going =
  (on: (answer: string) => string): AnswerResume =>
  ({ response, answer }) =>
    response.writeHead(200, EVENTS).end(on(answer("x")));
const ofOther = going((answer) => answer.replace(/"id":"[^"]*"/, '"id":"other"'));

const HOSTILE: readonly (readonly [string, string, AnswerResume, number, string])[] = [
  ["closes each connection", BEGUN, ({ response }) => response.destroy(), 5, "broke off"],
  ["has an id of 1 MB", priming(LONG, "retry: 0\n"), () => {}, 0, "breaks the protocol"],
  ["wants to be asked in days", priming("1", "retry: 864000000\n"), () => {}, 0, "broke off"],
  ["has an id that no header can have", priming("\u2603", "retry: 0\n"), () => {}, 0, "broke off"],
  ["has forgotten the session", BEGUN, refusing(404), 1, "broke off"],
  ["wants a key then", BEGUN, refusing(401), 1, "answered with the status 401"],
  ["answers another request", BEGUN, ofOther, 1, "broke off"],
  ["goes on with what is no JSON", BEGUN, going(() => "id: 2\ndata: {\n\n"), 1, "breaks the protocol"],
];

test.each(someOf(HOSTILE, 3))(
  "a server that %s fails its call, which is made once",
  async (_, begun, resume, most, message) => {
    await using server = await serveBreaking((response) => void response.end(begun), resume);
    await using source = await sourceOf(server);
    const answer = await call(source.tools, "web.echo({})");
    expect(answer).toMatchObject(failing("source_unavailable", message));
    expect(answer).toMatchObject({ message: expect.stringContaining("may have taken effect") });
    expect(server.counts.calls).toBe(1);
    expect(server.counts.resumes).toBe(most);
  },
);
