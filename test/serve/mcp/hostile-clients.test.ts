import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENTS } from "./clients.ts";
import { openHttpDoor, type ServerProcess } from "../processes.ts";
import { ACCEPT, initialize, sessionless } from "./http/messages.ts";
import { newFolder } from "../../support/new-folder.ts";

const ANN = "key-of-ann-0123456789";
const BOB = "key-of-bob-0123456789";

const folder = newFolder();
let door: ServerProcess;
beforeAll(async () => {
  const keys = join(folder, "keys.json");
  const content = {
    keys: [
      { id: "ann", key: ANN, tenant: "acme", scopes: ["run", "decide"] },
      { id: "bob", hash: createHash("sha256").update(BOB).digest("hex"), tenant: "acme" },
    ],
  };
  writeFileSync(keys, JSON.stringify(content));
  door = await openHttpDoor("--keys", keys);
});
afterAll(() => door[Symbol.asyncDispose]());

async function post(body: string | Buffer<ArrayBuffer>, headers: object = {}, path = "/mcp", method = "POST") {
  const answer = await fetch(new URL(door.url).origin + path, {
    method,
    headers: {
      authorization: `Bearer ${ANN}`,
      "content-type": "application/json",
      accept: ACCEPT,
      ...headers,
    },
    ...(method === "POST" && { body }),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
}

const begin = (capabilities: object = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, ...initialize("2025-11-25", capabilities) });

interface CallAnswer {
  readonly content?: readonly { readonly text: string }[];
  readonly isError?: boolean;
  readonly resultType?: string;
  readonly requestState?: string;
}

/** One `tools/call` of protocol 2026-07-28, as it stands on the wire. */
async function call(
  name: string,
  args: object,
  more: object = {},
  { key = ANN }: { readonly key?: string } = {},
): Promise<CallAnswer> {
  const asked = sessionless("tools/call", { name, arguments: args, ...more }, { elicitation: {} });
  const { body } = await post(JSON.stringify(asked.body), { ...asked.headers, authorization: `Bearer ${key}` });
  const json = body.startsWith("{") ? body : (/^data: (\{.*"(?:result|error)".*)$/m.exec(body)?.[1] ?? "{}");
  const { result, error } = JSON.parse(json) as { result?: CallAnswer; error?: { message: string } };
  return result ?? { isError: true, content: [{ text: error?.message ?? body }] };
}

const textOf = ({ content = [] }: CallAnswer) => content.map((block) => block.text).join("");
const yes = { action: "accept", content: { allow: true } };
const paid = async () =>
  (JSON.parse(textOf(await call("bank-statement", {}))) as { readonly paid: readonly number[] }).paid.length;

test("a key in the query is ignored, and other paths do not exist", async () => {
  expect((await post("{}", { authorization: "" }, `/mcp?key=${ANN}`)).status).toBe(401);
  expect((await post("{}", {}, "/other")).status).toBe(404);
  expect((await post("{}", {}, "//evil.example/mcp")).status).toBe(404);
});

describe("a body", () => {
  test.each([
    ["of 5 MiB", Buffer.alloc(5 * 1024 * 1024, " "), 413],
    ["that is no JSON", "{", 400],
    ["that is empty", "", 400],
    ["that is no message", "7", 400],
  ] as const)("%s is refused, and the door goes on", async (_, body, status) => {
    expect((await post(body)).status).toBe(status);
    expect(textOf(await call("shop-list", { n: 0 }))).toBe("[]");
  });

  test("names of the prototype are names like any other", async () => {
    for (const name of ["__proto__", "constructor", "toString"])
      expect(textOf(await call(name, {}))).toContain("There is no tool");
    const { isError } = await call("run_program", JSON.parse('{"__proto__":{"code":"return 1"}}') as object);
    expect(isError).toBe(true);
  });
});

describe("the memory that a client can take is bounded", () => {
  test("by a session, which keeps what the client says of itself", async () => {
    const padded = (length: number) => ({ experimental: { padding: { text: "x".repeat(length) } } });
    expect((await post(begin(padded(1000)))).status).toBe(200);
    expect((await post(begin(padded(65 * 1024)))).status).toBe(413);
  });

  test("by a batch, of which a key's rate would count one request", async () => {
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const { headers } = await post(begin());
    const session = { "mcp-session-id": headers.get("mcp-session-id"), "mcp-protocol-version": "2025-03-26" };
    for (const more of [{}, session]) expect((await post(JSON.stringify([list, list]), more)).status).toBe(400);
  });
});

test("the door goes on for all clients when a tool leaves a rejection and an error behind", async () => {
  expect(textOf(await call("clock-stray", {}))).toBe('"left"');
  await expect.poll(door.said).toContain("a stray error");
  expect(door.said()).toContain("a stray rejection");
  expect(textOf(await call("shop-list", { n: 0 }))).toBe("[]");
});

describe("a requestState", () => {
  const code = "return tools.bank.pay({ cents: 1 })";
  const asked = async (key = ANN) => {
    const answer = await call("run_program", { code }, {}, { key });
    expect(answer.resultType).toBe("input_required");
    return answer.requestState ?? "";
  };
  const repeat = (state: unknown, args: object = { code }, key = ANN) =>
    call("run_program", args, { requestState: state, inputResponses: { "1": yes } }, { key });

  test("that is forged, changed, of another request or another principal runs nothing; the right one runs its call once", async () => {
    const before = await paid();
    const state = await asked();
    const changed = state.slice(0, 30) + (state[30] === "A" ? "B" : "A") + state.slice(31);
    for (const hostile of ["", "x", "constructor", changed, state.slice(0, -4), `${state}AAAA`, "A".repeat(100_000)]) {
      const { isError, content } = await repeat(hostile);
      expect([hostile.slice(0, 20), isError]).toEqual([hostile.slice(0, 20), true]);
      expect(content?.[0]?.text).toContain("Nothing was run");
    }
    expect((await repeat(state, { code: "return tools.bank.pay({ cents: 1000 })" })).isError).toBe(true);
    expect((await repeat(state, { code }, BOB)).isError).toBe(true);
    expect(await paid()).toBe(before);
    expect(textOf(await repeat(state))).toBe('"paid 1"');
    // Repeated after it was used: the report of the program that has ended, which does not run again.
    expect(textOf(await repeat(state))).toBe('"paid 1"');
    expect(await paid()).toBe(before + 1);
  });

  test("that is repeated many times at once runs nothing twice", async () => {
    const before = await paid();
    const state = await asked();
    const answers = await Promise.all(Array.from({ length: 20 }, () => repeat(state)));
    expect(new Set(answers.map(textOf))).toEqual(new Set(['"paid 1"']));
    expect(await paid()).toBe(before + 1);
  });

  test("cannot be read", async () => {
    const bytes = Buffer.from(await asked(), "base64url").toString("latin1");
    for (const secret of ["ann", "run", "mcp-"]) expect(bytes).not.toContain(secret);
  });
});

describe("two principals", () => {
  test("read none of each other's values, by either version of the protocol", async () => {
    for (const { connect } of CLIENTS) {
      await using ann = await connect({ url: door.url, token: ANN });
      await using bob = await connect({ url: door.url, token: BOB });
      const { links } = await ann.call("shop-list", { n: 2000 });
      expect(JSON.parse(await ann.read(links[0] ?? ""))).toHaveLength(2000);
      await expect(bob.read(links[0] ?? "")).rejects.toThrow(/not found/i);
    }
  });

  test("do not share a session", async () => {
    const { headers } = await post(begin());
    const session = headers.get("mcp-session-id");
    const list = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}';
    const own = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
    expect((await post(list, own)).status).toBe(200);
    expect((await post(list, { ...own, authorization: `Bearer ${BOB}` })).status).toBe(404);
    expect((await post("", { ...own, authorization: `Bearer ${BOB}` }, "/mcp", "DELETE")).status).toBe(404);
    expect((await post(list, { ...own, "mcp-session-id": "none" })).status).toBe(404);
    expect((await post("", own, "/mcp", "DELETE")).status).toBe(200);
    expect((await post(list, own)).status).toBe(404);
  });
});
