import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, test } from "vitest";
import { KEYS, keyOf, openServer } from "../servers.ts";
import { someOf } from "../../support/all-tests.ts";

/** What clients send and then leave, with neither their side closed nor the answer read. */
const LEFT = [
  ["half a request line", "GET /v1/exec"],
  ["half of the headers", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n"],
  [
    "half of a body, without a key",
    "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
  ],
  [
    "half of a body",
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${keyOf("ann")}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  ],
  ["half of a chunk", "POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"],
  ["what is no HTTP", "\u0000\u0001\r\n\r\n"],
  ["headers that are too large", `GET / HTTP/1.1\r\nx: ${"x".repeat(20_000)}\r\n\r\n`],
  ["a request, and nothing more", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"],
  ["nothing at all", ""],
] as const;

const BOUNDS = { headersMs: 200, requestMs: 400, idleMs: 400 };

async function leave(port: number, sent: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(sent);
  return socket.pause();
}

describe("a connection whose client sends no more, reads nothing and closes nothing is ended", () => {
  test.concurrent.for(someOf(LEFT, 2))("after %s", async ([, sent], { expect }) => {
    await using door = await openServer({ keys: KEYS, ...BOUNDS, connections: 8 });
    const { url } = await door.server.listen({ port: 0 });
    const port = Number(new URL(url).port);
    const sockets = await Promise.all(Array.from({ length: 8 }, () => leave(port, sent)));
    // All connections are taken: another client is served once the server has ended some of them itself.
    await expect
      .poll(() =>
        fetch(`${url}/healthz`, { headers: { connection: "close" } }).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});
