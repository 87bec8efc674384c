import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Owner } from "../../src/fleet/index.ts";
import { declare, definitionDigest } from "../../src/owners/declarations.ts";
import { openKey, sealKey } from "../../src/owners/execution-key.ts";
import { type Made, openOwner, ownersTools, SECRET } from "./owned-fleet.ts";

const DEFINITIONS = new Map(ownersTools([]).map((tool) => [tool.name, definitionDigest(declare(tool))]));
const LATER = Date.now() + 600_000;
const KEY = sealKey(SECRET, { execution: "one", tenant: "acme" }, LATER);

describe("a worker that was taken over, or any client of the network", () => {
  const made: Made[] = [];
  let owner: Owner;
  let call = 0;
  beforeAll(async () => {
    owner = await openOwner({
      tools: ownersTools(made),
      limits: { inputBytes: 1000 },
      callsAtOnce: 2,
      answerBytes: 3000,
    });
  });
  afterAll(() => owner[Symbol.asyncDispose]());
  beforeEach(() => made.splice(0));

  interface Sent {
    readonly key?: string;
    readonly path?: string;
    readonly method?: string;
    readonly id?: string;
    readonly tool?: string;
    readonly timeout?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
  }

  async function send({
    key = KEY,
    path = "/v1/calls",
    method = "POST",
    id,
    tool = "crm.put",
    timeout = "5000",
    headers,
    body = '{"n":1}',
  }: Sent) {
    const answer = await fetch(owner.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        "portcullis-call": id ?? String((call += 1)),
        "portcullis-tool": tool,
        "portcullis-timeout": timeout,
        "portcullis-definition": DEFINITIONS.get(tool) ?? "none",
        ...headers,
      },
      ...(method === "GET" ? {} : { body }),
    });
    return { status: answer.status, body: (await answer.json()) as unknown };
  }

  const refusal = (code: string) => ({ error: { code, message: expect.any(String) as string } });

  test.each([
    ["none", ""],
    ["the secret itself", SECRET],
    ["of another secret", sealKey(`${SECRET}x`, { execution: "one", tenant: "acme" }, LATER)],
    ["for another execution, with the old seal", forged({ execution: "two", tenant: "acme" })],
    ["for another tenant, with the old seal", forged({ execution: "one", tenant: "other" })],
    ["for more tools, with the old seal", forged({ execution: "one", tenant: "acme", tools: ["pay"] })],
    ["without a payload", KEY.slice(KEY.indexOf("."))],
    ["without a seal", KEY.slice(0, KEY.indexOf("."))],
    ["of 13,000 characters", `${"a".repeat(13_000)}.b`],
  ])("runs nothing with a key that is %s", async (_, key) => {
    expect(await send({ key })).toEqual({ status: 401, body: refusal("owner_key_invalid") });
    expect(made).toEqual([]);
  });

  test("runs nothing with a key whose time is over, or that only reads declarations, and reads those with no key of an execution", async () => {
    const old = sealKey(SECRET, { execution: "one", tenant: "acme" }, Date.now() - 1);
    expect(await send({ key: old })).toEqual({ status: 401, body: refusal("owner_key_expired") });
    const declaring = sealKey(SECRET, { tenant: "acme" }, LATER);
    expect(await send({ key: declaring })).toEqual({ status: 404, body: refusal("path_unknown") });
    expect(await send({ path: "/v1/tools", method: "GET" })).toEqual({ status: 404, body: refusal("path_unknown") });
    expect(made).toEqual([]);
  });

  test("calls no tool that its key does not name, no tool of clients and none that is not there: all are answered alike", async () => {
    const key = sealKey(SECRET, { execution: "one", tenant: "acme", tools: ["crm.get", "ask"] }, LATER);
    for (const tool of ["crm.put", "ask", "none", "__proto__", "constructor"])
      expect(await send({ key, tool })).toEqual({ status: 404, body: refusal("tool_unknown") });
    expect(await send({ key, tool: "crm.get" })).toEqual({ status: 200, body: { ok: true, value: { n: 1 } } });
    expect(made).toHaveLength(1);
  });

  test("acts for the tenant and the execution of its key, whatever else it says", async () => {
    await send({ headers: { "portcullis-tenant": "other", "portcullis-execution": "two" } });
    expect(made[0]?.context).toMatchObject({ tenant: "acme", execution: "one" });
  });

  test("has a call made once however often it is sent, and none made with another input or tool under its id", async () => {
    const answers = await Promise.all([send({ id: "same" }), send({ id: "same" })]);
    expect(answers.map(({ body }) => body)).toEqual([
      { ok: true, value: { n: 1 } },
      { ok: true, value: { n: 1 } },
    ]);
    expect(await send({ id: "same", body: '{"n":2}' })).toEqual({ status: 409, body: refusal("call_conflict") });
    expect(await send({ id: "same", tool: "crm.keep" })).toEqual({ status: 409, body: refusal("call_conflict") });
    expect(made).toHaveLength(1);
    // Another execution has calls of its own.
    await send({ id: "same", key: sealKey(SECRET, { execution: "two", tenant: "acme" }, LATER) });
    expect(made).toHaveLength(2);
  });

  test.each(["", DEFINITIONS.get("crm.get") ?? "", "0".repeat(64)])(
    "gets no call made of a tool that it knows by another definition (%s)",
    async (definition) => {
      const sent = await send({ headers: { "portcullis-definition": definition } });
      expect(sent).toEqual({ status: 409, body: refusal("tool_changed") });
      expect(made).toEqual([]);
    },
  );

  test("gets no call made that it says it sent to another owner before: it may have been made there", async () => {
    expect(await send({ headers: { "portcullis-sent-to": "who" } })).toEqual({
      status: 409,
      body: refusal("outcome_unknown"),
    });
    expect(made).toEqual([]);
  });

  test.each([
    ["no id", { id: "" }],
    ["an id of 3,000 characters", { id: "x".repeat(3000) }],
    ["an id that is no encoding", { id: "%" }],
    ["no time", { timeout: "" }],
    ["a time without an end", { timeout: "Infinity" }],
    ["a time of 40 days", { timeout: "3456000000" }],
    ["an input that is no UTF-8", { body: new Uint8Array([0xff, 0xfe]) as unknown as string }],
  ])("is refused with %s", async (_, sent) => {
    expect(await send(sent)).toEqual({ status: 400, body: refusal("request_invalid") });
    expect(made).toEqual([]);
  });

  test.each([
    ["no JSON", "{"],
    ["of 300 levels", `{"n":${"[".repeat(300)}${"]".repeat(300)}}`],
    ["that the tool does not take", '{"n":"x"}'],
    ["with a field that the tool does not know", '{"n":1,"m":2}'],
    ["with __proto__", '{"__proto__":{"n":1}}'],
  ])("is answered by the owner's own gate for an input %s, and no handler runs", async (_, body) => {
    expect((await send({ body })).body).toMatchObject({ ok: false, code: "input_invalid" });
    expect(made).toEqual([]);
  });

  test("is refused an input of a gigabyte before it is read: declared, and without its length", async () => {
    for (const headers of [{ "content-length": String(2 ** 30) }, { "transfer-encoding": "chunked" }]) {
      const sent = request(`${owner.url}/v1/calls`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${KEY}`,
          "portcullis-call": "big",
          "portcullis-tool": "crm.put",
          "portcullis-timeout": "1",
          "portcullis-definition": DEFINITIONS.get("crm.put") ?? "",
          ...headers,
        },
      });
      sent.on("error", () => {});
      sent.write(Buffer.alloc(64 * 1024));
      const [answer] = (await once(sent, "response")) as [{ readonly statusCode: number }];
      expect(answer.statusCode).toBe(413);
      sent.destroy();
    }
    expect(made).toEqual([]);
  });

  test("makes the owner forget old answers of its own tenant first, and from then on no call is repeated that is not known", async () => {
    const other = sealKey(SECRET, { execution: "kept", tenant: "other" }, LATER);
    await send({ key: other, id: "kept" });
    for (let n = 0; n < 20; n += 1) await send({ id: `flood-${n}` });
    made.splice(0);
    await send({ key: other, id: "kept" });
    expect(made).toEqual([]);
    const { headers } = await fetch(`${owner.url}/v1/ready`, { headers: { authorization: `Bearer ${KEY}` } });
    const instance = headers.get("portcullis-owner") ?? "";
    expect((await send({ id: "flood-0", headers: { "portcullis-sent-to": instance } })).body).toEqual(
      refusal("outcome_unknown"),
    );
  });

  test("is no HTTP client: the owner goes on", async () => {
    const socket = connect(Number(new URL(owner.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    socket.end("\0\xff hello\r\n\r\n");
    await once(socket, "close");
    expect((await send({})).status).toBe(200);
  });
});

test("an owner makes as many calls at once as it may; further ones are to be sent again", async () => {
  const going = Promise.withResolvers<void>();
  const made: Made[] = [];
  await using owner = await openOwner({ tools: ownersTools(made, () => going.promise.then(() => 1)), callsAtOnce: 1 });
  const send = (id: string) =>
    fetch(`${owner.url}/v1/calls`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${KEY}`,
        "portcullis-call": id,
        "portcullis-tool": "crm.put",
        "portcullis-timeout": "5000",
        "portcullis-definition": DEFINITIONS.get("crm.put") ?? "",
      },
      body: '{"n":1}',
    });
  const first = send("1");
  await expect.poll(() => made.length).toBe(1);
  expect((await send("2")).status).toBe(503);
  expect(owner.running).toBe(1);
  going.resolve();
  expect((await first).status).toBe(200);
  expect(made).toHaveLength(1);
});

function forged(use: Parameters<typeof sealKey>[1]): string {
  const other = sealKey("some-other-secret-of-24-characters", use, LATER);
  return other.slice(0, other.indexOf(".")) + KEY.slice(KEY.indexOf("."));
}

test("a key is opened as it was sealed, by its secret alone", () => {
  for (const use of [
    { tenant: "a" },
    { tenant: "a", execution: "e" },
    { tenant: "ä\0", execution: "é", tools: ["x.y"] },
  ]) {
    const key = sealKey(SECRET, use, 5);
    expect(openKey(SECRET, key)).toEqual({ ...use, untilMs: 5 });
    expect(openKey(`${SECRET} `, key)).toBeUndefined();
    for (let at = 0; at < key.length; at += 1)
      if (key[at] !== ".")
        expect(openKey(SECRET, key.slice(0, at) + (key[at] === "A" ? "B" : "A") + key.slice(at + 1))?.tenant).not.toBe(
          "b",
        );
  }
});
