import { createMemoryJournal, type Journal } from "portcullis/journal";
import { scriptedModel } from "portcullis/testing";
import { expect, test, vi } from "vitest";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { workingClock } from "../../support/clock.ts";
import { tool } from "../../support/tools.ts";
import { KEYS, keyOf, keysWithout, openServer } from "../servers.ts";
import { countTurns } from "../../support/count-turns.ts";

test.each(["GET", "HEAD"])("a stream that is asked for with %s and left is not counted any more", async (method) => {
  await using door = await openServer();
  await door.run({ program: "return await tools.crm.slow({})", id: "long", wait: false });
  for (let n = 0; n < 400; n += 1) {
    const response = await door.server.fetch(
      new Request("http://localhost/v1/executions/long/events", {
        method,
        headers: { authorization: `Bearer ${keyOf("ann")}` },
      }),
    );
    expect(response.status).toBe(200);
    await response.body?.cancel();
  }
  const { text } = await door.ask("GET", "/metrics", { key: keyOf("ops") });
  expect(text).toContain("portcullis_event_streams 0");
});

test("a key runs no more at once than it may, also with requests that come together and with ids of its choice", async () => {
  await using door = await openServer();
  const slow = (n: number) => ({ program: "return await tools.crm.slow({})", wait: false, id: `id-${n}` });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => door.run(slow(n), keyOf("one"))));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(19);
  expect([refused[0]?.json.error.code, refused[0]?.headers.get("retry-after")]).toEqual(["too_many_at_once", "1"]);
  expect((await door.run({ program: "return 1" })).status).toBe(200);
});

test("a decision is signed with the key, however long a name the client gives", async () => {
  await using door = await openServer();
  const program = "return await tools.bank.pay({ amount: 3 })";
  await door.run({ program, id: "pays" });
  const by = "the boss".padEnd(256, " ");
  await door.decide("pays", { 1: { allow: true, by } });
  const { text } = await door.ask("GET", "/v1/executions/pays/events");
  expect(/"by":"([^"]*)"/.exec(text)?.[1]).toMatch(/\(ann\)$/);
});

test("decisions about many calls read an execution once", async () => {
  await using door = await openServer();
  await door.run({ program: "return 1", id: "ended" });
  const read = vi.spyOn(door.runtime.journal, "read");
  const decisions = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${n}`, { allow: true }]));
  const answer = await door.ask("POST", "/v1/executions/ended/decisions", { body: { decisions } });
  expect(answer.status).toBe(404);
  expect(read.mock.calls.length).toBeLessThan(10);
});

test.each([{ tools: ["no.such"] }, { scopes: ["raed"] }])(
  "a key that is revoked, or has another secret, is refused also beside %j",
  async (wrong) => {
    const statuses = async (change: (key: (typeof KEYS.keys)[number]) => object[]) => {
      await using door = await openServer();
      const keys = KEYS.keys.flatMap((key) => (key.id === "bob" ? [{ ...key, ...wrong }] : change(key)));
      expect(() => door.server.setKeys({ keys })).toThrow(/no\.such|raed/);
      const status = async (id: string) => (await door.ask("GET", "/v1/executions", { key: keyOf(id) })).status;
      return Promise.all(["ann", "new", "ada", "bob"].map(status));
    };
    const secret = { key: keyOf("new") };
    expect(await statuses((key) => (key.id === "ann" ? [] : [key]))).toEqual([401, 401, 200, 200]);
    expect(await statuses((key) => [key.id === "ann" ? { ...key, ...secret } : key])).toEqual([401, 401, 200, 200]);
  },
);

test.each([
  ["an empty list ends all keys", { keys: [] }, 401],
  ["a text that is no list of keys ends none", "{", 200],
  ["a key without an id leaves open which are gone", { keys: [{ key: keyOf("new"), tenant: "acme" }] }, 200],
])("%s, though keys are refused then", async (_, keys, status) => {
  await using door = await openServer();
  expect(() => door.server.setKeys(keys)).toThrow(/setKeys/);
  expect((await door.ask("GET", "/v1/executions")).status).toBe(status);
});

test("keys can be replaced after a tool of one that stays is gone, and that one has no other tool for it", async () => {
  let tools = [tool("crm.find", () => 1), tool("bank.pay", () => 1)];
  await using door = await openServer({ keys: KEYS }, { tools: () => tools });
  tools = tools.slice(1);
  door.server.setKeys(keysWithout("ann"));
  expect((await door.ask("GET", "/v1/executions")).status).toBe(401);
  const program = "return Object.keys(tools)";
  const { json } = await door.run({ program }, keyOf("low"));
  expect(json.outcome.value).not.toContain("bank");
});

test.each(ALL_TESTS ? ["running", "waiting", "ended"] : ["ended"])(
  "while a list of what is %s is made, others are served",
  async (state) => {
    const { work } = workingClock();
    const memory = createMemoryJournal();
    const journal: Journal = {
      ...memory,
      async *list(options) {
        for await (const summary of memory.list(options)) {
          work(5);
          yield summary;
        }
      },
    };
    await using door = await openServer(undefined, { journal });
    for (let n = 0; n < 12; n += 1)
      for (const program of ["return await tools.desk.ask({})", "return 1"]) await door.run({ program });
    const turns = countTurns();
    expect((await door.ask("GET", `/v1/executions?state=${state}&limit=200`)).status).toBe(200);
    expect(turns()).toBeGreaterThan(5);
  },
);

test("of an execution that a key may not read, the list has id, kind, state and times, and finds it by the id alone", async () => {
  const model = scriptedModel([{ text: "a secret answer" }]);
  await using door = await openServer({ keys: KEYS, model });
  const program = "// A secret\nreturn await tools.bank.pay({ amount: 77 })";
  await door.run({ program, id: "waits" });
  await door.run({ program: "return 'a secret'", id: "ended" });
  await door.ask("POST", "/v1/conversations", { key: keyOf("con"), body: { id: "talk", message: "a secret" } });
  await door.run({ program: "return 'own'", id: "own" }, keyOf("low"));
  const listed = async (query = "", id = "low") =>
    (await door.ask("GET", `/v1/executions${query}`, { key: keyOf(id) })).json.executions as { execution: string }[];
  const ids = async (query: string, id?: string) => (await listed(query, id)).map(({ execution }) => execution);
  const about = { tenant: "acme", startedAt: expect.any(Number) as number, driven: false };
  const none = { title: "", by: "", tools: [], waitsFor: [] };
  expect((await listed()).filter(({ execution }) => execution !== "own")).toEqual([
    { execution: "talk", kind: "conversation", state: "waiting", ...about, ...none },
    { execution: "ended", kind: "program", state: "ended", ms: expect.any(Number) as number, ...about, ...none },
    { execution: "waits", kind: "program", state: "waiting", ...about, ...none },
  ]);
  for (const query of ["?text=secret", "?tool=pay", "?tool=bank.pay&state=waiting"]) {
    expect(await ids(query)).toEqual([]);
    expect(await ids(query, "ada")).toContain("waits");
  }
  expect(await ids("?text=WAIT")).toEqual(["waits"]);
  expect(await ids("?state=waiting")).toEqual(["talk", "waits"]);
  expect(await ids("?text=own&state=ended")).toEqual(["own"]);
  expect((await listed("?text=own"))[0]).toMatchObject({ title: "return 'own'", by: "javascript", records: 3 });
});

test("a key runs no more at once than it may, also of programs that have waited for its decisions", async () => {
  await using door = await openServer();
  const key = keyOf("one");
  const program = "await tools.desk.ask({}); return await tools.crm.slow({})";
  for (const execution of ["a", "b"]) await door.run({ program, id: execution }, key);
  const answer = (id: string) =>
    door.ask("POST", `/v1/executions/${id}/results`, { key, body: { results: { 1: { value: { said: "x" } } } } });
  expect((await answer("a")).status).toBe(200);
  await door.slow.begun();
  const refused = await answer("b");
  expect([refused.status, refused.json.error.code]).toEqual([429, "too_many_at_once"]);
  expect((await door.ask("GET", "/v1/executions/b")).json.state).toBe("waiting");
  door.slow.release();
  await door.ask("GET", "/v1/executions/a/events");
  await expect.poll(async () => (await answer("b")).status).toBe(200);
});
