import { expect, test } from "vitest";
import { createMemoryJournal } from "portcullis/journal";
import { scriptedModel } from "portcullis/testing";
import { refusalOfProblem } from "../../../src/serve/gateway/refusals.ts";
import { GATEWAY_KEYS, messageTool, openGateway, type OpenGateway, post, PROGRAMS, SUM } from "./gateways.ts";

const DEPOT = messageTool("depot");
const USER = { role: "user", content: "How many?" };
const BODY = { model: "m", max_tokens: 100, messages: [USER] };
const saying = (...content: readonly unknown[]) => ({ messages: [USER, ...content] });
const called = (...blocks: readonly object[]) => ({ role: "assistant", content: blocks });
const RESULT = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "x" }] };
const CALL = { type: "tool_use", id: "toolu_1", name: "a", input: {} };
const AGENT = { type: "agent_20270101", tool_id: "srvtoolu_1" };
const SEARCH = { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" };
const OWN = messageTool("own", ["direct"]);

const WITH_TOOLS = { ...BODY, tools: [PROGRAMS, DEPOT] };

test.each<[string, object, string]>([
  ["no model", { model: undefined }, "model: expected a string"],
  ["no length", { max_tokens: undefined }, "max_tokens: expected a whole number"],
  ["no messages", { messages: [] }, "messages: at least one message"],
  ["an unknown field", { wish: 1 }, "wish: this server knows no such field"],
  ["a field that is not offered", { mcp_servers: [{ type: "url" }] }, "mcp_servers: this server does not offer it"],
  ["web search", { tools: [{ type: "web_search_20260209", name: "web_search" }] }, '"web_search_20260209"'],
  ["a tool for programs without programs", { tools: [DEPOT] }, "tools.0.allowed_callers"],
  ["two tools of one name", { tools: [PROGRAMS, DEPOT, DEPOT] }, "there are two tools depot"],
  ["thinking without its type", { thinking: { budget_tokens: 2000 } }, "thinking: "],
  ["an effort that its provider does not have", { output_config: { effort: "none" } }, "output_config.effort: "],
  ["the effort of another provider", { output_config: { effort: "minimal" } }, "output_config.effort: "],
  ["a strict tool that programs may call", { tools: [PROGRAMS, { ...DEPOT, strict: true }] }, "tools.1.strict: "],
  ["tools that are all deferred", { tools: [SEARCH, { ...OWN, defer_loading: true }] }, "tools: "],
  ["a caller that is no program", saying(called({ ...CALL, caller: AGENT }), RESULT), "messages.1.content.0.caller: "],
  ["a warm temperature", { temperature: 2 }, "temperature: expected a number from 0 to 1"],
  [
    "a file that is kept elsewhere",
    { messages: [{ role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] }] },
    "source.type: expected one of base64, text, url",
  ],
  ["an answer of no call", saying({ role: "assistant", content: "x" }, RESULT), "no call before it has the id toolu_1"],
  ["two calls of one id", saying(called(CALL, { ...CALL, name: "b" }), RESULT), "two calls have this id"],
  ["a container of another server", { container: "container_abc" }, "container or fingerprint is none of this key"],
])("refused in the vendor's form before anything is asked: %s", async (_, change, words) => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const { status, json, headers } = await post(gateway, { ...BODY, ...change });
  expect([status, json]).toMatchObject([
    400,
    { type: "error", error: { type: "invalid_request_error" }, request_id: headers.get("request-id") },
  ]);
  expect(json.error.message).toContain(words);
  expect(await Array.fromAsync(gateway.journal.list())).toEqual([]);
});

test.each<[string, unknown, Parameters<typeof post>[2], number, string]>([
  ["no key", BODY, { headers: { "x-api-key": "" } }, 401, "authentication_error"],
  ["another key", BODY, { key: "who" }, 401, "authentication_error"],
  ["a key that may not converse", BODY, { key: "run" }, 403, "permission_error"],
  ["no version", BODY, { headers: { "anthropic-version": "" } }, 400, "invalid_request_error"],
  ["another model", { ...BODY, model: "other" }, {}, 404, "not_found_error"],
  ["no JSON", "{", {}, 400, "invalid_request_error"],
  ["another type of body", BODY, { headers: { "content-type": "text/plain" } }, 400, "invalid_request_error"],
  [
    "too many bytes",
    { ...BODY, messages: [{ role: "user", content: "x".repeat(5_000_000) }] },
    {},
    413,
    "request_too_large",
  ],
])("refused with the vendor's status and word: %s", async (_, body, sent, status, type) => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const got = await post(gateway, body, sent);
  expect([got.status, got.json.error?.type ?? ""]).toEqual([status, type]);
  expect(got.headers.get("request-id")).toMatch(/^req_[0-9a-f]{32}$/);
});

test("the official clients list the models", async () => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const [openai, anthropic] = [gateway.openai(), gateway.anthropic()];
  expect((await Array.fromAsync(await openai.models.list())).map(({ id }) => id)).toEqual(["m"]);
  expect((await Array.fromAsync(await anthropic.models.list())).map(({ id }) => id)).toEqual(["m"]);
  const served = ["a", "b", "c"].map((name) => scriptedModel([], { name: `scripted:${name}` }));
  await using several = await openGateway([], { model: served });
  const { models } = several.anthropic();
  expect((await Array.fromAsync(models.list({ limit: 2 }))).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(await models.list({ limit: 1, before_id: "c" })).toMatchObject({ data: [{ id: "b" }], has_more: true });
  expect((await models.list({ after_id: "c" })).data).toEqual([]);
});

test.each<[string, string, boolean]>([
  ["POST", "/v1/chat/completions", false],
  ["POST", "/v1/embeddings", false],
  ["GET", "/v1/models/m", false],
  ["GET", "/v1/responses/resp_1", false],
  ["POST", "/v1/responses/resp_1/cancel", false],
  ["GET", "/v1/files?purpose=x", false],
  ["GET", "/v1/messages", true],
  ["POST", "/v1/messages/batches", true],
  ["GET", "/v1/files", true],
  ["POST", "/v1/complete", true],
])("%s %s, which is not served, is refused in its vendor's form", async (method, path, isAnthropics) => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const ask = async (key: string) => {
    const headers: Record<string, string> = isAnthropics
      ? { "x-api-key": key, "anthropic-version": "2023-06-01" }
      : { authorization: `Bearer ${key}` };
    const response = await gateway.server.fetch(new Request(`http://localhost${path}`, { method, headers }));
    return [response.status, await response.json()];
  };
  const body = (type: string, message: string) =>
    isAnthropics
      ? { type: "error", error: { type, message: expect.stringContaining(message) as string } }
      : { error: { message: expect.stringContaining(message) as string, param: null } };
  expect(await ask("con-0123456789abcdef")).toMatchObject([404, body("not_found_error", "path")]);
  expect(await ask("who-0123456789abcdef")).toMatchObject([401, body("authentication_error", "key")]);
});

test("a key is taken as Authorization too, and a body of count_tokens is counted and not asked", async () => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const headers = { "x-api-key": "", authorization: "Bearer con-0123456789abcdef" };
  const { max_tokens: _, ...body } = BODY;
  const counted = await post(gateway, body, { headers, path: "/v1/messages/count_tokens" });
  expect(counted.status).toBe(200);
  expect(counted.json.input_tokens).toBeGreaterThan(0);
  const more = await post(gateway, { ...WITH_TOOLS, max_tokens: undefined }, { path: "/v1/messages/count_tokens" });
  expect(more.json.input_tokens).toBeGreaterThan(counted.json.input_tokens);
  expect(await Array.fromAsync(gateway.journal.list())).toEqual([]);
});

test.each([
  ["rate_limited", 429, "rate_limit_error"],
  ["overloaded", 529, "overloaded_error"],
  ["key_refused", 500, "api_error"],
  ["request_refused", 400, "invalid_request_error"],
  ["timed_out", 504, "timeout_error"],
] as const)("a provider that fails (%s) fails the request, without its words", async (code, status, type) => {
  await using gateway = await openGateway([{ failure: { code, message: "the operator's secret" } }]);
  for (const stream of [false, true]) {
    const got = await post(gateway, { ...BODY, stream });
    expect([got.status, got.json.error.type]).toEqual([status, type]);
    expect(got.text).not.toContain("secret");
  }
});

test.each<[string, object, object]>([
  [
    "max_tokens",
    { text: "So far", end: { type: "cut_off", reason: "max_tokens" } },
    { stop_reason: "max_tokens", content: [{ text: "So far" }] },
  ],
  [
    "refusal",
    { end: { type: "refused", reason: "Not this." } },
    { stop_reason: "refusal", stop_details: { explanation: "Not this." } },
  ],
])("a turn that ends by %s is given as it is", async (_, turn, message) => {
  await using gateway = await openGateway([turn, { text: "mended" }]);
  expect((await post(gateway, BODY)).json).toMatchObject(message);
});

/** A program that waits for two calls. */
async function paused(gateway: OpenGateway, key = "con") {
  const { json } = await post(gateway, WITH_TOOLS, { key });
  const calls = (json.content as { type: string; id: string }[]).filter(({ type }) => type === "tool_use");
  const answers = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: '{"n":1}' }));
  const body = (content: unknown, container: unknown = json.container.id) => ({
    ...WITH_TOOLS,
    container,
    messages: [USER, { role: "assistant", content: json.content }, { role: "user", content }],
  });
  return { message: json, answers, body };
}

const SCRIPT = [{ programs: [SUM] }, { text: "Added." }];

test("half of the answers, others, text beside them, and a missing container are refused, and the program still waits", async () => {
  await using gateway = await openGateway(SCRIPT);
  const { answers, body } = await paused(gateway);
  const [one, two] = answers;
  const refused = async (content: unknown, container?: unknown) => {
    const { status, json } = await post(gateway, body(content, container));
    expect(status).toBe(400);
    return String(json.error.message);
  };
  expect(await refused([one])).toContain("there is no result of the call");
  expect(await refused([one, { ...two, tool_use_id: "toolu_x" }])).toContain("no call before it has the id");
  expect(await refused([one, one])).toContain("no call before it has the id");
  expect(await refused([...answers, { type: "text", text: "And?" }])).toContain(
    "only the results of its calls may follow",
  );
  const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } };
  expect(await refused([one, { ...two, content: [picture] }])).toContain("may only have text");
  expect(await refused(answers, null)).toContain("Send its state with the answers");
  expect(await refused(answers, "container_nothing")).toContain("is none of this key");
  const done = await post(gateway, body(answers));
  expect(done.json.content).toMatchObject([{ content: { stdout: "2" } }, { text: "Added." }]);
});

test("a client waits before it asks again for what another server drives, which may have died: its lease then ends", () => {
  const wait = (code: "execution_driven" | "head_moved") => refusalOfProblem({ code, message: "" }).headers;
  // Two attempts of the vendors' clients reach beyond a lease of 15 seconds.
  expect([wait("execution_driven"), wait("head_moved")]).toEqual([{ "retry-after": "8" }, { "retry-after": "1" }]);
});

test("the same answers twice, one after the other and at once, run the program once", async () => {
  let asked = 0;
  const script = [SCRIPT[0] ?? {}, () => ({ text: `Added ${(asked += 1)}.` })];
  await using gateway = await openGateway(script);
  const { answers, body } = await paused(gateway);
  const all = await Promise.all([1, 2, 3].map(() => post(gateway, body(answers))));
  const later = await post(gateway, body(answers));
  for (const { status, json } of [...all, later]) {
    expect([status, json.content]).toMatchObject([200, all[0]?.json.content]);
  }
  expect(asked).toBe(1);
});

test("a container and calls of another key are none, also of the same tenant", async () => {
  await using gateway = await openGateway(SCRIPT);
  const { answers, body } = await paused(gateway);
  for (const key of ["cat", "bea"]) {
    const { status, json } = await post(gateway, body(answers), { key });
    expect([status, json.error.message]).toEqual([400, expect.stringContaining("is none of this key")]);
  }
  expect((await post(gateway, body(answers))).status).toBe(200);
});

test("a program goes on after the server was restarted, with the secret that it was sealed with", async () => {
  const journal = createMemoryJournal();
  const first = await openGateway(SCRIPT, { journal });
  const { answers, body } = await paused(first);
  await first[Symbol.asyncDispose]();
  {
    await using other = await openGateway(SCRIPT, { journal, secrets: ["another secret of more than 32 characters"] });
    expect((await post(other, body(answers))).status).toBe(400);
  }
  const secrets = ["another secret of more than 32 characters", "a secret of more than thirty-two characters"];
  await using rotated = await openGateway(SCRIPT, { journal, secrets, keys: GATEWAY_KEYS });
  const done = await post(rotated, body(answers));
  expect([rotated.errors, done.json]).toMatchObject([
    [],
    { content: [{ content: { stdout: "2" } }, { text: "Added." }] },
  ]);
  expect(await rotated.server.recover()).toBe(0);
});

test("a client that leaves ends its request, and goes on where it was when it asks again", async () => {
  let begun = Promise.withResolvers<void>();
  let asked = 0;
  let isPatient = true;
  const slow = async () => {
    asked += 1;
    begun.resolve();
    if (isPatient) await new Promise(() => {});
    return { text: "Added." };
  };
  await using gateway = await openGateway([SCRIPT[0] ?? {}, slow]);
  const { answers, body } = await paused(gateway);
  for (const stream of [false, true]) {
    begun = Promise.withResolvers();
    const left = new AbortController();
    const fetch = (url: unknown, init?: RequestInit) =>
      gateway.server.fetch(new Request(String(url), { ...init, signal: left.signal }));
    const leaving = post({ fetch }, { ...body(answers), stream });
    await begun.promise;
    left.abort();
    await leaving;
  }
  isPatient = false;
  const done = await post(gateway, body(answers));
  expect(done.json.content).toMatchObject([{ content: { stdout: "2" } }, { text: "Added." }]);
  expect(asked).toBe(3);
}, 20_000);
