import { expect, test } from "vitest";
import { manualClock } from "../../support/clock.ts";
import { keyOf, openServer } from "../servers.ts";

const RUN = { program: "return 1" };

test.each([
  ["no key", { key: "" }, 401, "key_unknown"],
  ["an unknown key", { key: "zzz-0123456789abcdef" }, 401, "key_unknown"],
  ["an expired key", { key: keyOf("old") }, 401, "key_expired"],
  ["a key without the scope", { key: keyOf("ada") }, 403, "scope_missing"],
  ["another host", { headers: { host: "evil.example" } }, 421, "host_unknown"],
  ["a page of another origin", { headers: { origin: "https://evil.example" } }, 403, "origin_refused"],
  ["a page of no origin", { headers: { origin: "null" } }, 403, "origin_refused"],
])("%s is refused with its status, its code and a sentence", async (_, options, status, code) => {
  await using door = await openServer();
  const answer = await door.ask("POST", "/v1/executions", { body: RUN, ...options });
  expect([answer.status, answer.json.error.code]).toEqual([status, code]);
  expect(answer.json.error.message).toMatch(/^[A-Z].*\.$/);
  expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  expect(await Array.fromAsync(door.runtime.executions.list())).toEqual([]);
});

test("also where no key is needed, no other host is answered, and unknown paths need one", async () => {
  await using door = await openServer();
  expect((await door.ask("GET", "/healthz", { key: "", headers: { host: "evil.example" } })).status).toBe(421);
  expect((await door.ask("GET", "/nothing", { key: "" })).status).toBe(401);
});

test("a key over its rate gets 429 with the time to wait, then requests one by one, and no other key does", async () => {
  const clock = manualClock();
  const rated = ["few", "two"].map((id) => ({ id, key: keyOf(id), tenant: "t", rate: { calls: 2, perMs: 60_000 } }));
  await using door = await openServer({ keys: { keys: rated } });
  const ask = (id: string) => door.ask("GET", "/v1/executions", { key: keyOf(id) });
  const statuses = async (ids: readonly string[]) => {
    const all: number[] = [];
    for (const id of ids) all.push((await ask(id)).status);
    return all;
  };
  expect(await statuses(["few", "few", "few", "two"])).toEqual([200, 200, 429, 200]);
  const refused = await ask("few");
  expect([refused.json.error.code, refused.headers.get("retry-after")]).toEqual(["rate_exceeded", "30"]);
  clock.pass(30_000);
  expect(await statuses(["few", "few"])).toEqual([200, 429]);
  clock.pass(1_000_000);
  expect(await statuses(["few", "few", "few"])).toEqual([200, 200, 429]);
});

test("above the runtime's bound a 503 says that nothing was started", async () => {
  await using door = await openServer(undefined, { executions: { concurrency: 1, queued: 0 } });
  const slow = { program: "return await tools.crm.slow({})", wait: false };
  expect((await door.run(slow)).status).toBe(202);
  const busy = await door.run(RUN);
  expect([busy.status, busy.json.error.code, busy.headers.get("retry-after")]).toEqual([503, "busy", "2"]);
});

test("without keys there is one token, and no listening where others can reach it", async () => {
  await using door = await openServer({});
  const { token } = door.server;
  expect(token).toMatch(/^[\w-]{32}$/);
  expect((await door.run(RUN, token)).status).toBe(200);
  expect((await door.ask("GET", "/metrics", { key: token })).status).toBe(200);
  await expect(door.server.listen({ port: 0, host: "0.0.0.0" })).rejects.toMatchObject({ code: "option_invalid" });
});
