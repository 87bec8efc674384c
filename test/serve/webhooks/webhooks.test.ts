import { once } from "node:events";
import { createServer as createHttp, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { verifyWebhook } from "../../../src/serve/webhooks/signature.ts";
import { post } from "../../../src/serve/webhooks/webhooks.ts";
import { readWebhooks, type WebhookOptions } from "../../../src/serve/webhooks/webhook-options.ts";
import { createRuntime } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { tenantIds } from "../../../src/serve/tenant-ids.ts";
import { webhooksOf } from "../../../src/serve/webhooks/webhooks.ts";
import { manualClock } from "../../support/clock.ts";
import { KEYS, openServer } from "../servers.ts";
import { testOfAll } from "../../support/all-tests.ts";

const SECRET = "secret-0123456789abcdef01";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** A server that receives webhooks, and answers each with the next of these statuses, then with 204; or when it is told to. */
async function receiver(statuses: number[] | "waits" = []) {
  const received: Received[] = [];
  const open: ServerResponse[] = [];
  /** Requests whose senders have closed the connection: by then they have read the status, and know what became of the event. */
  let taken = 0;
  const server = createHttp((request, response) => {
    void textOf(request).then((text) => {
      received.push({ headers: request.headers, text, json: JSON.parse(text) as unknown });
      if (statuses === "waits") return void open.push(response);
      const status = statuses.shift() ?? 204;
      request.socket.once("close", () => (taken += 1));
      // The answer is not ended: then this server would close the connection itself.
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).flushHeaders();
      return void response.write("x".repeat(100_000));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: () => open.shift()?.writeHead(204).end(),
    until: (count: number) => {
      const seen = () => (statuses === "waits" ? received.length : taken);
      return expect.poll(seen).toBeGreaterThanOrEqual(count);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const hook = (url: string, more: Partial<WebhookOptions> = {}): WebhookOptions => ({
  url,
  secret: SECRET,
  allowPrivate: true,
  ...more,
});
/** A server with a webhook, and what receives it. */
async function openHooked(statuses: number[] = [], more: Partial<WebhookOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const other = stack.use(await receiver(statuses));
  const door = stack.use(await openServer({ keys: KEYS, webhooks: [hook(other.url, more)] }));
  const execute = (id: string, program = "return 1") => door.run({ program, id });
  return { other, door, execute, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const PAY = "return await tools.bank.pay({ amount: 5 });";

test("a program that waits and then ends is told of twice, signed, with its calls and without what it computes with", async () => {
  await using hooked = await openHooked();
  const { other, door, execute } = hooked;
  await execute("e 1", PAY);
  await other.until(1);
  await door.decide("e%201", { 1: { allow: true } });
  await other.until(2);
  const [waits, ended] = other.received;
  expect(waits?.json).toEqual({
    id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
    type: "execution_waiting",
    at: expect.any(Number) as number,
    execution: "e 1",
    kind: "program",
    tenant: "acme",
    calls: [{ callId: "1", tool: "bank.pay", waitsFor: "decision" }],
  });
  expect(ended?.json).toMatchObject({ type: "execution_ended", execution: "e 1", outcome: "completed" });
  for (const { headers, text, json } of other.received) {
    expect(headers["webhook-id"]).toBe((json as { id: string }).id);
    expect(verifyWebhook({ headers, body: text, secret: SECRET })).toBe(true);
    expect(text).not.toContain("amount");
  }
  expect(waits?.json.id).not.toBe(ended?.json.id);
});

test("only the events that a webhook asks for are sent to it, and a conversation's programs are told with it alone", async () => {
  await using hooked = await openHooked([], { events: ["execution_ended"] });
  const { other, execute } = hooked;
  await execute("waits", PAY);
  await execute("ends");
  await other.until(1);
  expect(other.received.map(({ json }) => [json.type, json.execution])).toEqual([["execution_ended", "ends"]]);
});

test("programs of MCP clients are told of as those of HTTP are", async () => {
  await using hooked = await openHooked();
  const { other, door } = hooked;
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call" };
  for (const code of [PAY, "return 1"])
    await door.ask("POST", "/mcp", {
      headers: { accept: "application/json, text/event-stream" },
      body: { ...message, params: { name: "run_program", arguments: { code } } },
    });
  await other.until(2);
  expect(other.received.map(({ json }) => json.type)).toEqual(["execution_waiting", "execution_ended"]);
});

test("events that rest before their next attempt hold up no other event", async () => {
  await using hooked = await openHooked(Array.from({ length: 8 }, () => 500));
  const { other, door, execute } = hooked;
  manualClock();
  const ids = Array.from({ length: 9 }, (_, n) => `e${n}`);
  for (const [n, execution] of ids.entries()) {
    await execute(execution);
    await other.until(n + 1);
  }
  expect(other.received.map(({ json }) => json.execution)).toEqual(ids);
  await door.server.close({ drainMs: 0 });
  expect(door.errors.splice(0)).toHaveLength(1);
});

test("what is not answered with success is sent again later, with the same id, and a redirect is not followed", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  await using hooked = await openHooked([500, 302]);
  const { other, execute } = hooked;
  const clock = manualClock();
  await execute("e");
  await other.until(1);
  for (const ms of [1000, 5000]) {
    const before = other.received.length;
    while (other.received.length === before) await clock.advance(ms / 10);
    await other.until(before + 1);
  }
  expect(other.received).toHaveLength(3);
  expect(new Set(other.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  vi.restoreAllMocks();
});

test("a receiver that wants no more of it is told no more, and the operator is", async () => {
  await using hooked = await openHooked([410]);
  const { other, door, execute } = hooked;
  await execute("e");
  await expect.poll(() => door.errors.length).toBeGreaterThan(0);
  expect(door.errors.splice(0)).toMatchObject([
    { code: "webhook_failed", message: expect.stringContaining("it answered 410") as string },
  ]);
  expect(other.received).toHaveLength(1);
});

test.each([
  "https://127.0.0.1/",
  "https://[::1]/",
  "https://169.254.169.254/latest/meta-data",
  "https://localhost/",
  "https://[::ffff:127.0.0.1]/",
  "https://0x7f000001/",
])("a private address is refused, however it is written: %s", async (url) => {
  const answer = post({ url: new URL(url), allowPrivate: false }, "{}", {}, new AbortController().signal);
  await expect(answer).rejects.toThrow("public internet");
});

test.each<[string, unknown, RegExp]>([
  ["no address", { secret: SECRET }, /url/],
  ["an address of this machine", hook("https://127.0.0.1/x", { allowPrivate: false }), /others need allowPrivate/],
  ["a private address", hook("https://[fd00::1]/", { allowPrivate: false }), /others need allowPrivate/],
  ["an address of another protocol", hook("file:///etc/passwd"), /https, or with allowPrivate of http/],
  ["a name in the address", hook("https://ann:hunter2@example.com"), /without a name and a password/],
  ["a short secret", hook("https://example.com", { secret: "hunter2" }), /secret/],
  ["an unknown event", hook("https://example.com", { events: ["execution_started"] as never }), /events/],
  ["a misspelt option", { ...hook("https://example.com"), event: [] }, /did you mean events/],
  ["nothing", null, /an object like/],
])("%s is refused when the server is made, and no secret is in the error", (_, given, message) => {
  expect(() => readWebhooks([given as WebhookOptions])).toThrow(message);
  expect(() => readWebhooks([given as WebhookOptions])).not.toThrow(/hunter2|0123456789abcdef/);
});

/** A webhook whose requests wait until they are answered. */
async function slowHook() {
  const other = await receiver("waits");
  const errors: unknown[] = [];
  const journal = createMemoryJournal();
  const onError = (error: unknown) => errors.push(error);
  const webhooks = webhooksOf({ webhooks: [hook(other.url)], journal, ids: tenantIds(journal), onError });
  const runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  return {
    ...other,
    errors,
    told: () => other.received.map(({ json }) => json.execution as string),
    /** Tells of an execution of this tenant that waits for a call with such an id. */
    tell: async (tenant: string, execution: string, callId = "1") => {
      await runtime.execute("return 1", { tenant, id: execution });
      const waiting = { type: "waiting", approvals: [], calls: [{ callId, tool: "t", input: {}, since: 0 }] } as const;
      webhooks.take({ type: "execution_waiting", execution, at: 0, waiting });
    },
    [Symbol.asyncDispose]: async () => {
      webhooks[Symbol.dispose]();
      await other[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

test("events of a tenant come before the many of another that wait for a slow receiver, and those of each in their order", async () => {
  await using slow = await slowHook();
  for (let n = 0; n < 20; n += 1) await slow.tell("a", `a${n}`);
  await expect.poll(() => slow.told().length).toBe(8);
  for (const execution of ["b0", "b1", "c0"]) await slow.tell(execution.slice(0, 1), execution);
  for (let answered = 9; answered <= 14; answered += 1) {
    slow.answer();
    await expect.poll(() => slow.told().length).toBe(answered);
  }
  // Each of the others has fewer requests open than the first tenant until it has none left to tell.
  expect(slow.told().slice(8)).toEqual(["b0", "c0", "b1", "a8", "a9", "a10"]);
});

testOfAll("a tenant whose events wait may hold as many bytes as it leaves to others, who are told", async () => {
  await using slow = await slowHook();
  const long = "x".repeat(3 * 1024 * 1024);
  for (let n = 0; n < 9; n += 1) await slow.tell("a", `a${n}`, long);
  for (const tenant of ["b", "c"]) await slow.tell(tenant, tenant, long);
  await expect.poll(() => [slow.errors.length, slow.told().length]).toEqual([4, 7]);
  // Requests that are made at once arrive in any order.
  expect(slow.told().toSorted()).toEqual(["a0", "a1", "a2", "a3", "a4", "b", "c"]);
  expect(slow.errors).toEqual(
    [5, 6, 7, 8].map((n) => {
      const message = new RegExp(`execution_waiting of "a${n}" .*too many events of its tenant`);
      return expect.objectContaining({ code: "webhook_failed", message: expect.stringMatching(message) as string });
    }),
  );
});

test("an answer that switches to another protocol, or is none, fails at once", async () => {
  for (const answer of ["HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", ""]) {
    const server = createSocketServer(
      (socket) => void socket.once("data", () => (answer ? socket.write(answer) : socket.end())),
    );
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const url = new URL(`http://127.0.0.1:${port}/`);
    await expect(post({ url, allowPrivate: true }, "{}", {}, new AbortController().signal)).rejects.toThrow();
    server.close();
  }
});
