import { content } from "portcullis";
import { describe, expect, test } from "vitest";
import { someOf, testOfAll } from "../support/all-tests.ts";
import { openSession, send, sessionless } from "./mcp/http/messages.ts";
import { keyOf, openServer, type OpenServer } from "./servers.ts";
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

const CALL = { name: "draw", arguments: {} };

/** Keeps what work gives for each key. */
function once<Value>(work: (key: string) => Promise<Value>) {
  const made = new Map<string, Promise<Value>>();
  return (key: string) => {
    const value = made.get(key) ?? work(key);
    made.set(key, value);
    return value;
  };
}

/** Ways to ask for an answer that is large. */
const WAYS: Readonly<Record<string, (door: OpenServer) => Ask>> = {
  "direct calls over MCP in a session": (door) => {
    const sessionOf = once((key) => openSession(door, { key }));
    const call = { method: "tools/call", params: CALL };
    return async (key) => send(door, call, { key, session: await sessionOf(key), version: "2025-06-18" });
  },
  "direct calls over MCP without a session": (door) => (key) => {
    const { body, headers } = sessionless("tools/call", CALL);
    return send(door, body, { key, headers });
  },
  "values over HTTP": (door) => {
    const program = `await save("large", "x".repeat(${EACH}))`;
    const run = once((key) => door.run({ program, id: "e" }, keyOf(key)));
    return async (key) => {
      await run(key);
      const headers = { authorization: `Bearer ${keyOf(key)}` };
      return door.server.fetch(new Request("http://localhost/v1/executions/e/artifacts/large", { headers }));
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
    const ask = waysOf(door);
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
    const ask = waysOf(door);
    for (let round = 0; round < 3; round += 1) {
      const unread = await Promise.all(Array.from({ length: ASKED / 2 }, () => ask("ann")));
      await Promise.all(unread.map(async ({ body }) => body?.cancel()));
    }
    expect((await (await ask("ann")).text()).length).toBeGreaterThan(EACH);
  });
});
