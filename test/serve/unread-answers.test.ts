import { content } from "portcullis";
import type { PortcullisServer } from "portcullis/serve";
import { describe, expect, test } from "vitest";
import { someOf, testOfAll } from "../support/all-tests.ts";
import { keyOf, openServer } from "./servers.ts";
import { makeTool } from "../support/tools.ts";

const MIB = 1024 * 1024;
/** Of one key, as `BytesByKey` bounds it. */
const MOST = 80 * MIB;
const EACH = 4 * MIB;
/** Together more than may be held. */
const ASKED = 22;

/** Made once: to check its text takes as long as to send it. */
const DRAWN = content({ value: 1, parts: [{ type: "image", mediaType: "image/png", data: "A".repeat(EACH) }] });
const draw = makeTool({ name: "draw", allowedCallers: ["direct"], execute: () => DRAWN });

const open = () =>
  openServer({ keys: { keys: ["ann", "bob"].map((id) => ({ id, key: keyOf(id), tenant: id })) } }, { tools: [draw] });

type Ask = (key: string) => Promise<Response>;

function send(server: PortcullisServer, key: string, path: string, body?: object, headers = {}): Promise<Response> {
  const text = body && JSON.stringify(body);
  return server.fetch(
    new Request(`http://localhost${path}`, {
      method: body ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${keyOf(key)}`,
        accept: "application/json, text/event-stream",
        // A body without a length counts as the largest one.
        ...(text && { "content-type": "application/json", "content-length": String(text.length) }),
        ...headers,
      },
      ...(text && { body: text }),
    }),
  );
}

const CLIENT = { name: "t", version: "1" };
let asked = 1;
/** Calls of one session have ids of their own. */
const callWith = (given: object) => ({ jsonrpc: "2.0", id: (asked += 1), method: "tools/call", params: given });
const params = { name: "draw", arguments: {} };

async function session(server: PortcullisServer, key: string): Promise<object> {
  const begin = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: CLIENT };
  const begun = await send(server, key, "/mcp", { jsonrpc: "2.0", id: 1, method: "initialize", params: begin });
  const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") };
  await begun.text();
  await (await send(server, key, "/mcp", { jsonrpc: "2.0", method: "notifications/initialized" }, headers)).text();
  return headers;
}

/** Ways to ask for an answer that is large. */
const WAYS: Readonly<Record<string, (server: PortcullisServer) => Ask>> = {
  "direct calls over MCP in a session": (server) => {
    const sessions = new Map<string, Promise<object>>();
    return async (key) => {
      const headers = sessions.get(key) ?? session(server, key);
      sessions.set(key, headers);
      return send(server, key, "/mcp", callWith(params), await headers);
    };
  },
  "direct calls over MCP without a session": (server) => {
    const about = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": CLIENT,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "draw" };
    return (key) => send(server, key, "/mcp", callWith({ ...params, _meta: about }), headers);
  },
  "values over HTTP": (server) => {
    const program = `await save("large", "x".repeat(${EACH}))`;
    const ran = new Map<string, Promise<unknown>>();
    return async (key) => {
      const run = ran.get(key) ?? send(server, key, "/v1/executions", { program, id: "e" });
      ran.set(key, run);
      await run;
      return send(server, key, "/v1/executions/e/artifacts/large");
    };
  },
};

/** The first part of a body that says something. */
async function firstLine(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  for (;;) {
    const { done, value } = await reader.read();
    const text = new TextDecoder().decode(value);
    if (done || text.includes("{") || text.length > EACH) return text;
  }
}

/** One account bounds them all. */
const TRIED = someOf(Object.entries(WAYS).toReversed(), 1);

describe.each(TRIED)("%s", { timeout: 120_000 }, (_, waysOf) => {
  test("hold no more for a key that leaves them unread than it may, and the others say why", async () => {
    await using door = await open();
    const ask = waysOf(door.server);
    await (await ask("ann")).text();
    const unread = await Promise.all(Array.from({ length: ASKED }, () => ask("ann")));
    const other = await (await ask("bob")).text();
    expect(other.length).toBeGreaterThan(EACH);
    const readers = unread.map(({ body }) => (body as ReadableStream<Uint8Array>).getReader());
    // What was read first counts until its client asks for more.
    const first = await Promise.all(readers.map((reader) => firstLine(reader)));
    const given = first.filter((text) => text.length > EACH);
    expect(given.length).toBeGreaterThan(2);
    expect(given.length * EACH).toBeLessThanOrEqual(MOST);
    for (const text of first) if (text.length < EACH) expect(text).toContain("too_many_at_once");
    await Promise.all(readers.map(async (reader) => reader.cancel()));
    expect((await (await ask("ann")).text()).length).toBeGreaterThan(EACH);
  });

  testOfAll("count no more once their clients have left", async () => {
    await using door = await open();
    const ask = waysOf(door.server);
    for (let round = 0; round < 3; round += 1) {
      const unread = await Promise.all(Array.from({ length: ASKED / 2 }, () => ask("ann")));
      await Promise.all(unread.map(async ({ body }) => body?.cancel()));
    }
    expect((await (await ask("ann")).text()).length).toBeGreaterThan(EACH);
  });
});
