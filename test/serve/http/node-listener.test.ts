import { once } from "node:events";
import { createServer, type IncomingMessage, request, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { nodeListener } from "../../../src/serve/http/node-listener.ts";
import { readJsonBody } from "../../../src/serve/http/read-json.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { keyOf, openServer } from "../servers.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { manualClock } from "../../support/clock.ts";

/** Serves it by a server of node's own, and gives its address. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const post = (url: string) =>
  fetch(`${url}/v1/executions`, {
    method: "POST",
    headers: { authorization: `Bearer ${keyOf("ann")}`, "content-type": "application/json" },
    body: JSON.stringify({ program: "return await tools.crm.find({})" }),
  });

test("where a body was read before, the operator is told what to change, and the client that it is not its fault", async () => {
  await using door = await openServer();
  const url = await serve((incoming, outgoing) => {
    void buffer(incoming).then(() => door.server.listener(incoming, outgoing));
  });
  const answered = await post(url);
  expect([answered.status, await answered.json()]).toMatchObject([500, { error: { code: "server_failed" } }]);
  expect(String(door.errors.splice(0))).toContain("express.json()");
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test.each(["PROPFIND", "TRACE", "PUT"])("%s is refused with a code, by node's parser alone or not", async (method) => {
  await using door = await openServer();
  const url = await serve(door.server.listener);
  const asked = request(`${url}/v1/executions`, { method, headers: { authorization: `Bearer ${keyOf("ann")}` } }).end();
  const [answered] = (await once(asked, "response")) as [IncomingMessage];
  expect([answered.statusCode, JSON.parse(await text(answered))]).toMatchObject([
    405,
    { error: { code: "method_unknown" } },
  ]);
});

/** Sends a request as it is, and resolves with what comes back once all of it was sent. */
async function say(url: string, head: string, body = ""): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").pause();
  socket.write(`${head}\r\nconnection: close\r\nauthorization: Bearer ${keyOf("ann")}\r\n\r\n`);
  await new Promise((sent) => void socket.write(body, sent));
  return text(socket);
}

test("the whole address as a target is its path, under the host that it names", async () => {
  await using door = await openServer();
  const url = await serve(door.server.listener);
  const ask = async (target: string) =>
    (await say(url, `GET ${target} HTTP/1.1\r\nhost: localhost`)).split("\r\n", 1)[0];
  const { host } = new URL(url);
  const answers = [
    await ask(`http://${host}/v1/executions?limit=0`),
    await ask(`HTTP://${host}/healthz`),
    await ask(`http://${host}`),
    await ask("http://evil.example/v1/executions"),
    await ask("http://[/v1/executions"),
  ].map((line) => line?.slice(9, 12));
  expect(answers).toEqual(["400", "200", "200", "421", "404"]);
});

test("a body over the limit is answered also on a connection that is not kept", async () => {
  await using door = await openServer();
  const url = await serve(door.server.listener);
  const head = "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
  const body = `"${"x".repeat(9_000_000)}"`;
  expect(await say(url, `${head}\r\ncontent-length: ${body.length}`, body)).toMatch(/ 413 [^]*body_too_large/);
});

test("a client that leaves aborts the signal of its request, also when the request itself is garbage by then", async () => {
  const asked = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const fetched = ({ signal }: Request) =>
    new Promise<Response>((resolve) => {
      signal.addEventListener("abort", () => {
        aborted.resolve();
        resolve(new Response());
      });
      asked.resolve();
    });
  const url = await serve(nodeListener(fetched, { idleMs: 1000, onError: () => {} }));
  const client = request(url).on("error", () => {});
  client.end();
  await asked.promise;
  await setImmediate();
  collectGarbage();
  client.destroy();
  await aborted.promise;
});

/** Sends a body as chunks of one byte, and resolves with the answer. */
async function drip(url: string, body: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n");
  socket.write(`transfer-encoding: chunked\r\n\r\n${body.replaceAll(/[^]/g, (one) => `1\r\n${one}\r\n`)}0\r\n\r\n`);
  return text(socket);
}

testOfAll("a body of a hundred thousand chunks of one byte is passed on in few parts, and whole", async () => {
  const body = JSON.stringify({ text: "x0123456789".repeat(10_000) });
  let parts = 0;
  let read = "";
  const fetched = async (asked: Request) => {
    for await (const part of asked.body ?? []) {
      parts += 1;
      read += String(Buffer.from(part));
    }
    return new Response("read");
  };
  const url = await serve(nodeListener(fetched, { idleMs: 1000, onError: () => {} }));
  expect(await drip(url, body)).toContain("read");
  expect(read === body).toBe(true);
  expect(parts).toBeLessThan(body.length / 100);
});

testOfAll("a body that its reader leaves in the middle is read to its end: the client gets the answer", async () => {
  // What is read is bounded by time, and a busy machine reads slowly.
  manualClock();
  const fetched = async (asked: Request) => {
    const reader = asked.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    return new Response("refused");
  };
  const url = await serve(nodeListener(fetched, { idleMs: 1000, onError: () => {} }));
  expect(await drip(url, "x".repeat(300_000))).toContain("refused");
});

test("a body whose client leaves in the middle is an incomplete one, not a short one", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const asked = Promise.withResolvers<void>();
  const fetched = async (request: Request) => {
    asked.resolve();
    const reading = readJsonBody(request, { most: 1000, reader: { tenant: "", hold: () => () => {} } });
    resolve(await reading.catch((error: unknown) => error));
    return new Response("");
  };
  const url = await serve(nodeListener(fetched, { idleMs: 1000, onError: () => {} }));
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{}");
  await asked.promise;
  socket.destroy();
  expect(String(await promise)).toContain("incomplete");
});

test("of a client that sends many requests before it has an answer few are read at once, and all are answered", async () => {
  const opened = Promise.withResolvers<void>();
  let asked = 0;
  const answer = async ({ url }: Request) => {
    if (url.endsWith("/now")) return new Response("now");
    asked += 1;
    await opened.promise;
    return new Response("ok");
  };
  const options = { idleMs: 60_000, onError: () => {} };
  const url = await serve(nodeListener(answer, options));
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const head = `GET / HTTP/1.1\r\nhost: localhost\r\nmore: ${"x".repeat(500)}\r\n`;
  socket.write(`${`${head}\r\n`.repeat(1999)}${head}connection: close\r\n\r\n`);
  // Without a bound, all would have been read between these.
  for (let times = 0; times < 100; times += 1) expect(await (await fetch(`${url}/now`)).text()).toBe("now");
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(1000);
  opened.resolve();
  expect((await text(socket)).split("HTTP/1.1 200").length - 1).toBe(2000);
  expect(asked).toBe(2000);
});
