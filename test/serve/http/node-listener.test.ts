import { once } from "node:events";
import { createServer, type IncomingMessage, request, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { keyOf, openServer } from "../servers.ts";

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

test("a server of node's own takes requests to it", async () => {
  await using door = await openServer();
  const url = await serve(door.server.listener);
  const ran = await post(url);
  expect([ran.status, await ran.json()]).toMatchObject([200, { outcome: { value: [{ id: 1 }] } }]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test("where a body was read before, the operator is told what to change, and the client that it is not its fault", async () => {
  await using door = await openServer();
  const url = await serve((incoming, outgoing) => {
    void buffer(incoming).then(() => door.server.listener(incoming, outgoing));
  });
  const answered = await post(url);
  expect([answered.status, await answered.json()]).toMatchObject([500, { error: { code: "server_failed" } }]);
  expect(String(door.errors)).toContain("express.json()");
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
