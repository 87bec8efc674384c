import { createMemoryJournal, type Journal } from "portcullis/journal";
import { scriptedModel } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { useFleets } from "../../fleet/use-fleets.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { settableClock } from "../../support/clock.ts";
import { keyOf } from "../servers.ts";
import { BOSS, endingOf, type Host, keys, SMALL, world } from "./world.ts";

const SLOW = "return await tools.slow({})";
const ALL = { ...SMALL, scopes: [...SMALL.scopes, "admin"], tools: undefined, allowedCallers: undefined };
const BOTH = keys(ALL, BOSS);
const GONE = keys(BOSS);
const REVOKED = { type: "cancelled", code: "key_revoked" };

const model = () =>
  scriptedModel([{ programs: [SLOW] }, { text: "end" }], { hostsPrograms: false, name: "scripted:m" });

const post = (path: string, body: object) => ({ path, init: { method: "POST", body: JSON.stringify(body) } });
const begun = { program: SLOW, id: "e", wait: false };

/** Requests that are under way while a program runs, and how an answer says that the key was revoked. */
const UNDER_WAY: readonly { path: string; init: object; begins?: boolean; status: number }[] = [
  { ...post("/v1/executions", { ...begun, wait: true }), begins: true, status: 401 },
  { ...post("/v1/conversations", { message: "go", id: "e", wait: true }), begins: true, status: 401 },
  { ...post("/v1/messages", { model: "m", max_tokens: 9, messages: [{ role: "user", content: "go" }] }), status: 401 },
  { ...post("/v1/responses", { model: "m", input: "go" }), status: 401 },
  { path: "/v1/executions/e?wait=60", init: {}, status: 401 },
  { path: "/v1/executions/e/events", init: {}, status: 200 },
  { path: "/v1/executions/e/view/events", init: {}, status: 200 },
  {
    ...post("/mcp", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "run_program", arguments: { code: SLOW } },
    }),
    begins: true,
    // The answer is a stream, which has begun.
    status: 200,
  },
];

const request = (path: string, init: object) =>
  new Request(`http://localhost${path}`, {
    headers: {
      authorization: `Bearer ${keyOf("small")}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      accept: "application/json, text/event-stream",
    },
    ...init,
  });

describe.each([
  ["is taken out", (host: Host) => host.server.setKeys(GONE)],
  ["has other tools", (host: Host) => host.server.setKeys(keys({ ...ALL, tools: ["free"] }, BOSS))],
  ["has another secret", (host: Host) => host.server.setKeys(keys({ ...ALL, key: keyOf("else") }, BOSS))],
  ["expires", (host: Host) => host.server.setKeys(keys({ ...ALL, expires: "2020-01-01T00:00:00Z" }, BOSS))],
])("a key that %s", (_, revoke) => {
  test.each(UNDER_WAY)("ends what $path waits for, and says so", async ({ path, init, begins = false, status }) => {
    const asked = Promise.withResolvers<void>();
    const hangs = { ...model(), converse: hanging(asked.resolve) };
    const isGateway = /messages|responses/.test(path);
    await using here = world();
    const host = await here.serve({ keys: BOTH, model: isGateway ? (hangs as never) : model() });
    if (!begins && !isGateway) expect((await host.as("small")("POST", "/v1/executions", begun)).status).toBe(202);
    const answer = host.server.fetch(request(path, init));
    await (isGateway ? asked.promise : here.slow.begun.promise);
    if (path.endsWith("events")) await answer;
    revoke(host);
    const { status: told, text } = await answer.then(async (one) => ({ status: one.status, text: await one.text() }));
    expect(told).toBe(status);
    expect(text).toMatch(/key_revoked|This key was changed or revoked/);
    if (!isGateway) await here.slow.ended.promise;
    for await (const { execution, parent } of host.runtime.executions.list())
      if (parent === undefined) await expect.poll(() => endingOf(here.journal, execution)).toEqual(REVOKED);
    expect(host.errors).toEqual([]);
  });
});

/** A model that begins its answer and never ends it. */
function hanging(onAsked: () => void) {
  return async () => ({
    say: () => {},
    answer: () => {},
    restore: () => {},
    turn: async ({ signal }: { readonly signal?: AbortSignal }) => {
      onAsked();
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      return { type: "aborted" };
    },
  });
}

test.each([
  ["decides", "decisions", { decisions: { 1: { allow: true } } }],
  ["ends", "cancel", {}],
])("a key that is revoked while the journal is read %s nothing", async (_, what, body) => {
  const journal = createMemoryJournal();
  let onRead = () => {};
  const slow: Journal = Object.assign(Object.create(journal) as Journal, {
    async *read(...given: Parameters<Journal["read"]>) {
      yield* journal.read(...given);
      onRead();
    },
  });
  await using here = world({ journal: slow });
  const { as, server } = await here.serve({ keys: BOTH });
  await as("boss")("POST", "/v1/executions", { program: "return await tools.ask({})", id: "e" });
  const state = async () => (await as("boss")("GET", "/v1/executions/e")).json.state;
  await expect.poll(state).toBe("waiting");
  onRead = () => server.setKeys(GONE);
  expect((await as("small")("POST", `/v1/executions/e/${what}`, body)).status).toBe(401);
  // What the request would do afterwards takes fewer turns than these.
  for (let request = 0; request < 50; request += 1) expect(await state()).toBe("waiting");
  expect(here.ran).toEqual([]);
});

test("a key whose rate alone changes keeps what it has under way", async () => {
  await using here = world();
  const { server, as } = await here.serve({ keys: BOTH });
  await as("small")("POST", "/v1/executions", begun);
  await here.slow.begun.promise;
  server.setKeys(keys({ ...ALL, rate: { calls: 9, perMs: 1000 } }, BOSS));
  expect((await as("small")("GET", "/v1/executions/e")).json.state).toBe("running");
});

test("a key that expires by its time ends what it has under way then", async () => {
  const clock = settableClock();
  await using here = world();
  const expires = new Date(Date.now() + 60_000).toISOString();
  const { as, server } = await here.serve({ keys: keys({ ...ALL, expires }, BOSS) });
  await as("small")("POST", "/v1/executions", begun);
  await here.slow.begun.promise;
  clock.jump(61_000);
  // The clock was set: whatever looks at the key next finds that it has expired.
  server.setKeys(keys({ ...ALL, expires }, BOSS));
  expect(await here.slow.ended.promise).toBeDefined();
});

test("what waits for a decision goes on under a changed key of the same id, and ends if there is none", async () => {
  await using here = world();
  const { as, server } = await here.serve({ keys: BOTH });
  const program = "return await tools.ask({})";
  for (const id of ["one", "other"]) await as("small")("POST", "/v1/executions", { program, id });
  server.setKeys(keys({ ...ALL, key: keyOf("else") }, BOSS));
  const decide = (id: string) =>
    as("boss")("POST", `/v1/executions/${id}/decisions`, { decisions: { 1: { allow: true } } });
  await decide("one");
  await expect.poll(() => here.ran).toEqual(["ask programmatic"]);
  server.setKeys(GONE);
  const state = async () => (await as("boss")("GET", "/v1/executions/other")).json.outcome;
  await expect.poll(state).toEqual(REVOKED);
  expect((await decide("other")).status).toBe(404);
  expect(here.ran).toEqual(["ask programmatic"]);
});

describe.skipIf(noPostgres)("in a fleet", () => {
  const share = useFleets();
  test("a worker of a fleet in another process ends what a revoked key has begun", async () => {
    await using here = world({ fleets: await share() });
    const { as, server } = await here.serve({ keys: BOTH, workers: "elsewhere" });
    await server.listen({ port: 0 });
    const runtime = await here.open();
    await using _ = await runtime.fleet!.work(runtime);
    await as("small")("POST", "/v1/executions", begun);
    await here.slow.begun.promise;
    server.setKeys(GONE);
    await here.slow.ended.promise;
    const ended = async () => (await as("boss")("GET", "/v1/executions/e")).json.outcome;
    await expect.poll(ended).toEqual(REVOKED);
  });
});

/** Routes whose answer asks nothing of the journal, and is there at once. */
const AT_ONCE = new Set("/healthz /readyz /metrics /openapi.json /v1/models /v1/tools /v1/tools/search".split(" "));

test("each path answers key_revoked, whichever is asked when the key is revoked", async () => {
  const released = Promise.withResolvers<void>();
  const memory = createMemoryJournal();
  let isHeld = false;
  const held = async () => void (isHeld && (await released.promise));
  const journal: Journal = {
    ...memory,
    find: async (id) => {
      await held();
      return memory.find(id);
    },
    async *list(options) {
      await held();
      yield* memory.list(options);
    },
  };
  await using here = world({ journal });
  const host = await here.serve({ keys: BOTH, model: model() });
  const { paths } = (await host.ask("GET", "/openapi.json", { key: keyOf("small") })).json;
  const routes = Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, "x") })),
  );
  expect(routes.length).toBeGreaterThan(20);
  routes.push({ method: "POST", path: "/mcp" });
  isHeld = true;
  const answers = routes.flatMap(({ method, path }) => {
    if (AT_ONCE.has(path)) return [];
    // The body of a request is on its way for as long as the test likes.
    const body = method === "POST" ? new ReadableStream({ pull: () => released.promise }) : null;
    const init = { method, ...(body && { body, duplex: "half" }) };
    return [{ what: `${method} ${path}`, answer: host.server.fetch(request(path, init)) }];
  });
  await new Promise((resolve) => setImmediate(resolve));
  host.server.setKeys(GONE);
  for (const { what, answer } of answers) {
    const response = await answer;
    expect([response.status, await response.text()], what).toEqual([401, expect.stringContaining("key_revoked")]);
  }
  isHeld = false;
  released.resolve();
});
