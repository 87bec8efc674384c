import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { readServerReply } from "../../../../../src/sandboxes/docker/egress/tls/tunnel.ts";
import { AUTHORITY, rawServer, tlsServer } from "../../../../docker-support/egress-servers.ts";
import { openProxy, type OpenProxy } from "../open-proxy.ts";
import { firstBytes } from "./first-bytes.ts";

const HANDSHAKE = 22;
const record = (type: number, body: Buffer) =>
  Buffer.concat([Buffer.from([type, 3, 3, body.length >> 8, body.length & 255]), body]);
const serverHello = (random: Buffer) =>
  Buffer.concat([Buffer.from([2, 0, 0, 40, 3, 3]), random, Buffer.from([0, 0x13, 1, 0, 0, 0])]);
const RETRY_RANDOM = createHash("sha256").update("HelloRetryRequest").digest();
const RETRY = record(HANDSHAKE, serverHello(RETRY_RANDOM));
const ACCEPTED = record(HANDSHAKE, serverHello(Buffer.alloc(32, 7)));
const CIPHER_CHANGE = record(20, Buffer.from([1]));
const WARNING = record(21, Buffer.from([1, 112]));
const EARLY_DATA = record(23, Buffer.from("early"));

/** Greetings for two hosts, which have names of the same length, and one for none. */
let allowed: Buffer;
let other: Buffer;
let unnamed: Buffer;

beforeAll(async () => {
  [allowed, other, unnamed] = (await Promise.all(["allowed.test", "another.test", ""].map(firstBytes))) as [
    Buffer,
    Buffer,
    Buffer,
  ];
});

async function tunnel(proxy: OpenProxy, port: number): Promise<Socket> {
  const socket = proxy.connect();
  socket.write(`CONNECT allowed.test:${port} HTTP/1.1\r\nHost: allowed.test:${port}\r\n\r\n`);
  await once(socket, "data");
  return socket;
}

/** A server that asks for a second greeting in these pieces, and what it was sent. */
async function askingServer(...replies: readonly Buffer[]): Promise<{ readonly port: number; heard(): Buffer }> {
  const parts: Buffer[] = [];
  const port = await rawServer((socket) => {
    socket.once("data", () => {
      for (const reply of replies) socket.write(reply);
    });
    socket.on("data", (part: Buffer) => parts.push(part));
  });
  return { port, heard: () => Buffer.concat(parts) };
}

describe("if its server asks for a second hello, a tunnel", () => {
  test("stays with its host: a client's attempts to name another", async () => {
    for (const [what, second] of [
      ["at once", other],
      ["behind what looks like older versions", Buffer.concat([CIPHER_CHANGE, other])],
      ["behind data that came early", Buffer.concat([EARLY_DATA, other])],
      ["none", unnamed],
      ["something that is no greeting", record(HANDSHAKE, Buffer.from([16, 0, 0, 1, 0]))],
      [
        "in two records",
        Buffer.concat([record(HANDSHAKE, other.subarray(5, 9)), record(HANDSHAKE, other.subarray(9))]),
      ],
    ] as const)
      for (const waits of [true, false]) {
        const server = await askingServer(RETRY, CIPHER_CHANGE);
        const proxy = await openProxy({ hosts: [`allowed.test:${server.port}`] });
        const socket = await tunnel(proxy, server.port);
        if (waits) {
          socket.write(allowed);
          await once(socket, "data");
          socket.write(second);
        } else socket.write(Buffer.concat([allowed, second]));
        const [told] = await proxy.toldOf(1);
        expect([what, told?.outcome]).toEqual([what, "refused"]);
        expect(server.heard().equals(allowed)).toBe(true);
      }
  });

  test("passes a second hello to the same host, and what follows once that is accepted", async () => {
    const heard: Buffer[] = [];
    const gotSecond = Promise.withResolvers<void>();
    const gotRest = Promise.withResolvers<void>();
    const port = await rawServer((socket) => {
      socket.once("data", () => socket.write(RETRY));
      socket.on("data", (part: Buffer) => {
        heard.push(part);
        const { length } = Buffer.concat(heard);
        if (length >= 2 * allowed.length) gotSecond.resolve();
        if (length > 2 * allowed.length + CIPHER_CHANGE.length) gotRest.resolve();
        if (length === 2 * allowed.length + CIPHER_CHANGE.length)
          socket.write(Buffer.concat([CIPHER_CHANGE, ACCEPTED, EARLY_DATA]));
      });
    });
    const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
    const socket = await tunnel(proxy, port);
    let got = Buffer.alloc(0);
    const all = new Promise<void>((resolve) => {
      socket.on("data", (part: Buffer) => {
        got = Buffer.concat([got, part]);
        if (got.length === RETRY.length + CIPHER_CHANGE.length + ACCEPTED.length + EARLY_DATA.length) resolve();
      });
    });
    const sent = Buffer.concat([allowed, CIPHER_CHANGE, allowed, EARLY_DATA]);
    socket.write(sent);
    await gotSecond.promise;
    await all;
    await gotRest.promise;
    expect(Buffer.concat(heard).equals(sent)).toBe(true);
    expect(got.equals(Buffer.concat([RETRY, CIPHER_CHANGE, ACCEPTED, EARLY_DATA]))).toBe(true);
  });

  test("works for a real client and a real server", async () => {
    const { port: tlsPort } = await tlsServer(undefined, { ecdhCurve: "P-384", minVersion: "TLSv1.3" });
    let first = Buffer.alloc(0);
    const port = await rawServer((socket) => {
      const server = connect(tlsPort, "127.0.0.1");
      server.on("error", () => {});
      server.on("data", (part: Buffer) => (first = Buffer.concat([first, part])));
      socket.pipe(server).pipe(socket);
    });
    const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
    const options: ConnectionOptions = { servername: "allowed.test", ca: AUTHORITY, ecdhCurve: "X25519:P-384" };
    const secured = connectTls({ socket: await tunnel(proxy, port), ...options });
    secured.write("GET /second HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n");
    let heard = "";
    secured.on("data", (part: Buffer) => (heard += part.toString()));
    await once(secured, "end");
    secured.end();
    expect(readServerReply(first).type).toBe("retry");
    expect(heard).toContain("GET /second ");
    expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "done", host: "allowed.test" }]);
  });
});

describe("a tunnel of TLS", () => {
  test.each([
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n",
    "\u0016\u0003\u0003\u0000\u0004\u0000\u0000\u0000\u0000",
  ])("ends if its server answers %j: nothing after the hello is sent", async (answer) => {
    const server = await askingServer(Buffer.from(answer, "latin1"));
    const proxy = await openProxy({ hosts: [`allowed.test:${server.port}`] });
    const socket = await tunnel(proxy, server.port);
    socket.write(Buffer.concat([allowed, Buffer.from("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n")]));
    expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "failed", detail: expect.stringContaining("TLS") }]);
    expect(server.heard().equals(allowed)).toBe(true);
  });

  test("passes on the alert of a server that ends it", async () => {
    const alert = record(21, Buffer.from([2, 40]));
    const port = await rawServer((socket) => socket.once("data", () => socket.end(alert)));
    const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
    const socket = await tunnel(proxy, port);
    socket.write(allowed);
    const [heard] = (await once(socket, "data")) as [Buffer];
    expect(heard.equals(alert)).toBe(true);
    socket.resume();
    await once(socket, "end");
    socket.end();
    expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "done" }]);
  });

  test("is ended if its server sends a message without an end", async () => {
    const port = await rawServer((socket) => {
      socket.once("data", () => {
        for (let count = 0; count < 5000; count += 1) socket.write(WARNING);
      });
    });
    const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
    (await tunnel(proxy, port)).write(allowed);
    expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "failed" }]);
  });
});

describe("a server's answer to a hello", () => {
  test("is read whole, however it is split into records", () => {
    for (const whole of [RETRY, Buffer.concat([WARNING, RETRY])])
      for (let length = 0; length < whole.length; length += 1)
        expect(readServerReply(whole.subarray(0, length))).toEqual({ type: "incomplete" });
    for (const length of [1, 3, 10, 37])
      for (const [random, type] of [
        [RETRY_RANDOM, "retry"],
        [Buffer.alloc(32), "accepted"],
      ] as const) {
        const message = serverHello(random);
        const records: Buffer[] = [];
        for (let at = 0; at < message.length; at += length)
          records.push(record(HANDSHAKE, message.subarray(at, at + length)));
        expect(readServerReply(Buffer.concat(records)).type).toBe(type);
      }
  });

  test("gives a result for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, isTls) => {
        const seen = readServerReply(Buffer.concat([Buffer.from(isTls ? [HANDSHAKE, 3, 3] : []), bytes]));
        expect(["incomplete", "accepted", "retry", "strange"]).toContain(seen.type);
      }),
    );
  });
});
