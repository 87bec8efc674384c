import { hash } from "node:crypto";
import { childExecution } from "../../../src/conversations/calls/child-execution.ts";
import { idPrefixOf } from "../../../src/serve/principal.ts";
import { scriptedModel } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { someOf } from "../../support/all-tests.ts";
import { type AskOptions, KEYS as ALL, keyOf, openServer } from "../servers.ts";

/** Tenants whose names are made to look like the ids of others. */
const NAMES = someOf(["a", "a:b", "t-", "__proto__", "b", "a:", ":", "a/b", "a%3Ab", "é", "e\u0301"], 4);
const KEYS = { keys: NAMES.map((tenant, n) => ({ id: `k${n}`, key: keyOf(`key-${n}`), tenant })) };
const tagOf = (tenant: string) => `t-${hash("sha256", tenant).slice(0, 16)}:`;

/** Ids that one tenant chooses to be in the way of another that is going to choose `x`. */
const FORGED = [
  "x",
  ...NAMES.flatMap((tenant) => [`${tenant}:x`, `${tenant}:${tenant}:x`, `${tagOf(tenant)}x`, `${tenant}/x`]),
  childExecution("x", "1"),
  ...KEYS.keys.map((key) => `${idPrefixOf(key)}1`),
];

const program = (value: unknown) => `return ${JSON.stringify(value)}`;

describe("whatever ids one tenant chooses", () => {
  test("every other tenant gets the id that it chooses", async () => {
    await using door = await openServer({ keys: KEYS });
    const [attacker, ...others] = KEYS.keys;
    const run = (key: string, execution: string, value: unknown, more: Partial<AskOptions> = {}) =>
      door.ask("POST", "/v1/executions", { key, body: { program: program(value), id: execution }, ...more });
    for (const execution of FORGED) {
      const { status, json } = await run(attacker?.key ?? "", execution, execution);
      if (/t-[0-9a-f]{16}:/.test(execution)) expect(json.error.code, execution).toBe("request_invalid");
      else expect([status, json.execution, json.outcome?.value], execution).toEqual([200, execution, execution]);
    }
    for (const { key, tenant } of others) {
      const { status, json } = await run(key, "x", tenant);
      expect([status, json.execution, json.outcome?.value], tenant).toEqual([200, "x", tenant]);
      const { json: list } = await door.ask("GET", "/v1/executions", { key });
      expect(list.executions.map(({ execution }: { execution: string }) => execution)).toEqual(["x"]);
    }
    for (const { key, tenant } of others)
      for (const execution of FORGED.filter((id) => id !== "x" && id !== `${tagOf(tenant)}x`))
        expect((await door.ask("GET", `/v1/executions/${encodeURIComponent(execution)}`, { key })).status).toBe(404);
  });

  test("code of the host gets the id that it chooses, and no key of another tenant sees what it has", async () => {
    await using door = await openServer({ keys: KEYS });
    const [attacker, other] = KEYS.keys;
    await door.run({ program: "return 1", id: "nightly" }, attacker?.key);
    const own = await door.runtime.execute("return 2", { id: "nightly", tenant: other?.tenant ?? "" });
    expect(own.outcome).toEqual({ type: "completed", value: 2 });
    const seen = async (key: string | undefined) => (await door.ask("GET", "/v1/executions/nightly", { key })).json;
    expect((await seen(other?.key)).outcome.value).toBe(2);
    expect((await seen(attacker?.key)).outcome.value).toBe(1);
  });

  test.each([1, 200, 237])(
    "an id of %i characters is as good for the second tenant as for the first",
    async (length) => {
      await using door = await openServer({ keys: KEYS });
      const execution = "i".repeat(length);
      for (const { key } of KEYS.keys.slice(0, 2))
        expect((await door.run({ program: "return 1", id: execution }, key)).status).toBe(200);
    },
  );
});

test.each([".", "..", "a/b", "a%2Fb", "a?b#c", "a\\b", "%", "events", "日本", "é", " "])(
  "an execution under the id %j is found under it, or the id is refused",
  async (execution) => {
    await using door = await openServer();
    const begun = await door.run({ program: "return 1", id: execution });
    if (begun.status === 400) return;
    expect(begun.status).toBe(200);
    for (const tail of ["", "/view", "/events"]) {
      const shown = await door.ask("GET", `/v1/executions/${encodeURIComponent(execution)}${tail}`);
      expect([shown.status, shown.text.includes(JSON.stringify(execution))]).toEqual([200, true]);
    }
  },
);

test.each(["\u0000", "%00", "a".repeat(10_000), "..%2f..%2fetc", "\ud800", "a/".repeat(4000), "__proto__"])(
  "a path with an id like %.20j is a 404 on every route of an execution",
  async (id) => {
    await using door = await openServer();
    await door.run({ program: "return 1", id: "x" });
    const path = encodeURIComponent(id.toWellFormed());
    for (const tail of ["", "/view", "/events", `/calls/${path}`]) {
      const { status, text } = await door.ask("GET", `/v1/executions/${path}${tail}`);
      expect([status, text.length < 20_000]).toEqual([404, true]);
    }
    expect((await door.ask("GET", `/v1/executions/x/calls/${path}`)).status).toBe(404);
  },
);

test("under an id that another key has chosen beforehand, what a conversation starts is shown, and decided by that conversation's", async () => {
  const program = "return await tools.bank.pay({ amount: 9 })";
  const model = scriptedModel([{ programs: [program] }], { hostsPrograms: false });
  await using door = await openServer({ keys: ALL, model });
  const key = keyOf("con");
  const child = childExecution(`${tagOf("acme")}invoice`, "call-1");
  const harmless = { program: "return 'harmless'", id: child };
  expect((await door.run(harmless)).status).toBe(200);
  await door.ask("POST", "/v1/conversations", { key, body: { id: "invoice", message: "pay" } });
  const { turns } = (await door.ask("GET", "/v1/executions/invoice/view", { key })).json;
  expect(turns[0].programs[0].execution).toBe(child);
  expect((await door.ask("GET", `/v1/executions/${child}/view`, { key })).json).toMatchObject({
    source: program,
    state: "waiting",
    parent: { execution: "invoice" },
  });
  expect((await door.ask("GET", `/v1/executions/${child}`, { key })).json.waitsFor).toEqual(["bank.pay"]);
  expect((await door.run(harmless)).json.error.code).toBe("execution_exists");
  const decide = async (id: string, call: string) => (await door.decide(id, { [call]: { allow: true } })).status;
  expect([await decide(child, "1"), await decide("invoice", "call-1/1")]).toEqual([409, 200]);
});

test("messages about an execution use its client's id", async () => {
  await using door = await openServer();
  const program = "return await tools.bank.pay({ amount: 3 })";
  const texts: string[] = [];
  const ask = async (...asked: Parameters<typeof door.ask>) => {
    const answer = await door.ask(...asked);
    texts.push(answer.text);
    return answer;
  };
  await ask("POST", "/v1/executions", { body: { program, id: "mine" } });
  await ask("POST", "/v1/executions", { body: { program: "return 2", id: "mine" } });
  for (const tail of ["", "/view", "/calls/9", "/calls/call_1%2F2"]) await ask("GET", `/v1/executions/mine${tail}`);
  await ask("POST", "/v1/executions/mine/decisions", { body: { decisions: { 9: { allow: true } } } });
  await ask("POST", "/v1/executions/mine/results", { body: { results: { 9: { value: 1 } } } });
  await ask("GET", "/v1/executions");
  await ask("POST", "/v1/executions/mine/cancel", { body: {} });
  await ask("GET", "/v1/executions/mine/events");
  for (const text of texts) expect(text).not.toContain(tagOf("acme"));
});
