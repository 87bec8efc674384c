import { describe, expect, test } from "vitest";
import { KEYS, keysWith, keysWithout, type OpenServer, openServer } from "../../servers.ts";
import { initialize, send } from "./messages.ts";

async function begin(door: OpenServer, key = "ann", padding = 0) {
  const message = initialize("2025-11-25", { experimental: { padding: { text: "x".repeat(padding) } } });
  const response = await send(door, message, { key });
  const { status, headers } = response;
  return { status, id: headers.get("mcp-session-id") ?? "", text: await response.text() };
}

const status = async (door: OpenServer, session: string, key = "ann") => {
  const response = await send(door, { method: "ping" }, { session, key });
  await response.body?.cancel();
  return response.status;
};

describe("sessions of one key", () => {
  const LARGE = 60_000;

  test("hold no more than so many bytes: the one that was unused for the longest ends, and no other key's", async () => {
    await using door = await openServer({ keys: KEYS });
    const bobs = await begin(door, "bob", LARGE);
    const first = await begin(door, "ann", LARGE);
    let last = first;
    for (let n = 0; n < 60; n += 1) last = await begin(door, "ann", LARGE);
    expect([first.status, await status(door, first.id)]).toEqual([200, 404]);
    expect([last.status, await status(door, last.id)]).toEqual([200, 200]);
    expect(await status(door, bobs.id, "bob")).toBe(200);
  });

  test("that are all in use leave no room for another one, and the client is told what to do", async () => {
    await using door = await openServer({ keys: KEYS });
    const streams: Response[] = [];
    let refused: Awaited<ReturnType<typeof begin>> | undefined;
    for (let n = 0; n < 60 && !refused; n += 1) {
      const session = await begin(door, "ann", LARGE);
      if (session.status === 200) streams.push(await send(door, undefined, { method: "GET", session: session.id }));
      else refused = session;
    }
    expect(refused?.status).toBe(429);
    expect(refused?.text).toMatch(/DELETE and its Mcp-Session-Id.*2026-07-28, which needs none/);
    expect((await begin(door, "bob", LARGE)).status).toBe(200);
    await streams[0]?.body?.cancel();
    expect((await begin(door, "ann", LARGE)).status).toBe(200);
    for (const stream of streams.slice(1)) await stream.body?.cancel();
  });

  test("give back what they held when they end", async () => {
    await using door = await openServer({ keys: KEYS });
    for (let n = 0; n < 80; n += 1) {
      const { id } = await begin(door, "ann", LARGE);
      const stream = await send(door, undefined, { method: "GET", session: id });
      expect(stream.status).toBe(200);
      expect((await send(door, undefined, { method: "DELETE", session: id })).status).toBe(200);
      await stream.body?.cancel();
    }
  });
});

const SLOW = {
  method: "tools/call",
  params: { name: "run_program", arguments: { code: "return await tools.crm.slow({})" } },
};
/** Resolves with what a client gets of an answer, to its end. */
const ofAnswer = async (answer: Promise<Response>) => {
  const response = await answer;
  return `${response.status} ${await response.text()}`;
};

/** A key is looked at each second: whether it expires is noticed within that time. */
const soon = () => new Date(Date.now() + 50).toISOString();

describe.each([
  ["is revoked", () => keysWithout("ann")],
  ["gets another tenant", () => keysWith("ann", { tenant: "bolt" })],
  ["loses the scope run", () => keysWith("ann", { scopes: ["read"] })],
  ["expires", () => keysWith("ann", { expires: soon() })],
] as const)("a key that %s", (_, keys) => {
  const open = () => openServer({ keys: KEYS });

  test("loses its streams and sessions, and its programs end", async () => {
    await using door = await open();
    const { id } = await begin(door);
    const stream = ofAnswer(send(door, undefined, { method: "GET", session: id }));
    const call = ofAnswer(send(door, SLOW, { session: id }));
    await door.slow.begun();
    door.server.setKeys(keys());
    expect(await stream).toMatch(/^200/);
    expect(await call).not.toContain('"result"');
    expect([401, 403, 404]).toContain(await status(door, id));
    await expect
      .poll(async () => (await Array.fromAsync(door.runtime.executions.list())).map(({ state }) => state))
      .toEqual(["ended"]);
  });
});

test("a client whose key stays is not disturbed when other keys go", async () => {
  await using door = await openServer({ keys: KEYS });
  const { id } = await begin(door);
  const call = ofAnswer(send(door, SLOW, { session: id }));
  await door.slow.begun();
  door.server.setKeys(keysWithout("bob"));
  door.slow.release();
  expect(await call).toContain('"result"');
  expect(await status(door, id)).toBe(200);
});
