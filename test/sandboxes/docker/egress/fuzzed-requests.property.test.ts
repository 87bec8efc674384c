import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { httpServer } from "../../../docker-support/egress-servers.ts";
import { runs } from "../../../support/all-tests.ts";
import { openProxy } from "./open-proxy.ts";

/*
 * What a program may write to the proxy is bytes. These are made of the parts with which requests are split, smuggled, hidden or
 * sent to another host, in any order and in any pieces.
 */
const METHODS = ["POST", "GET", "PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "PRI", "G\u0000T", ""] as const;
const VERSIONS = ["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 x", "http/1.1", ""] as const;
const ENDS = ["\r\n", "\n", "\r", "\r\r\n", "\u000b\r\n"] as const;
const FRAMINGS = [
  "Content-Length: 5",
  "Content-Length: 0",
  "Content-Length: 5, 5",
  "Content-Length: -1",
  "Content-Length: 0x5",
  "Content-Length: 99999999999999999999",
  "Content-Length : 5",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding:\u000bchunked",
  "Transfer-Encoding: xchunked",
  " Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip",
];
const OTHERS = [
  "Connection: keep-alive",
  "Connection: Host",
  "Upgrade: websocket",
  "Expect: 100-continue",
  "X: y\r\n folded: z",
  "X\u0000: y",
  "Proxy-Connection: keep-alive",
  "Forwarded: host=denied.test",
  `Long: ${"x".repeat(20_000)}`,
];

/** A program may wait for an answer that never comes. */
const LIMITS = { connections: 1_000_000, totalBytes: 2 ** 31, headerMs: 40, idleMs: 40 };

/** Mostly the first, as a request of nothing but faults goes nowhere. */
const mostly = <Value>(first: Value, ...others: readonly Value[]) =>
  fc.oneof({ arbitrary: fc.constant(first), weight: 12 }, { arbitrary: fc.constantFrom(...others), weight: 1 });

interface Ports {
  readonly allowed: number;
  readonly denied: number;
}

const targetOf = ({ allowed, denied }: Ports) =>
  mostly(
    `http://allowed.test:${allowed}/`,
    `http://allowed.test:${allowed}@denied.test:${denied}/`,
    `http://denied.test:${denied}/`,
    `http://allowed.test:${denied}/`,
    `http://127.0.0.1:${denied}/`,
    `http://allowed.test:${allowed}#@denied.test:${denied}/`,
    `http://denied.test:${denied}\\@allowed.test:${allowed}/`,
    `http://ALLOWED.test.:${allowed}/`,
    `https://allowed.test:${allowed}/`,
    `//denied.test:${denied}/`,
    `/`,
    `*`,
    `allowed.test:${allowed}`,
    `denied.test:${denied}`,
    `allowed.test:${allowed} http://denied.test:${denied}/`,
    `http://allowed.test:${allowed}/\r\nHost: denied.test`,
  );

function requestOf(ports: Ports) {
  const host = fc.constantFrom(
    `Host: allowed.test:${ports.allowed}`,
    `Host: denied.test:${ports.denied}`,
    `Host:\tdenied.test:${ports.denied}`,
    `hOsT: denied.test`,
    "Host:",
  );
  const odd = fc.oneof(host, fc.constantFrom(...FRAMINGS), fc.constantFrom(...OTHERS));
  const usual = fc.constantFrom("Accept: text/html", `Host: allowed.test:${ports.allowed}`);
  const header = fc.oneof({ arbitrary: usual, weight: 2 }, { arbitrary: odd, weight: 1 });
  const line = fc
    .tuple(mostly(...METHODS), targetOf(ports), mostly(...VERSIONS), mostly(...ENDS))
    .map(([method, target, version, end]) => `${method} ${target} ${version}${end}`);
  const headers = fc
    .array(fc.tuple(header, mostly(...ENDS)), { maxLength: 4 })
    .map((all) => all.map(([text, end]) => text + end).join(""));
  const body = fc.constantFrom(
    "",
    "",
    "",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "0\r\n\r\n",
    "5;x=\n\r\nhello\r\n0\r\nHost: denied.test\r\n\r\n",
    "fffffffffffffffff\r\n",
    "-5\r\nhello\r\n",
    `GET http://denied.test:${ports.denied}/smuggled HTTP/1.1\r\nHost: denied.test\r\n\r\n`,
    `GET /smuggled HTTP/1.1\r\nHost: denied.test\r\n\r\n`,
  );
  return fc.tuple(line, headers, mostly("\r\n", "\n", ""), body).map((parts) => parts.join(""));
}

test(
  "whatever a program writes, only the listed host is reached, with one request that names it",
  { timeout: 300_000 },
  async () => {
    const [allowed, denied] = [await httpServer(), await httpServer()];
    const ports = { allowed: allowed.port, denied: denied.port };
    const proxy = await openProxy({ hosts: [`allowed.test:${ports.allowed}`], limits: LIMITS });
    let reached = 0;
    const written = fc.tuple(
      fc.array(requestOf(ports), { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.nat(200)),
    );
    await fc.assert(
      fc.asyncProperty(written, async ([requests, sizes]) => {
        const before = allowed.asked.length;
        const bytes = Buffer.from(requests.join(""), "latin1");
        const socket = proxy.connect();
        // A connection that the proxy ends while bytes arrive is reset, which is an error before it closes.
        const ended = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
        socket.resume().once("end", () => socket.end());
        await pipeline(Readable.from(piecesOf(bytes, sizes)), socket, { end: false }).catch(() => {});
        await ended;
        expect(denied.asked).toEqual([]);
        const asked = allowed.asked.slice(before);
        reached += asked.length;
        expect(asked.length).toBeLessThan(2);
        for (const one of asked) {
          expect(one).toMatch(new RegExp(` allowed\\.test:${ports.allowed}$`));
          expect(one).not.toContain("smuggled");
        }
      }),
      { numRuns: runs(5000) },
    );
    // Parts of which no request can be made would prove nothing.
    expect(reached).toBeGreaterThan(0);
  },
);

function* piecesOf(bytes: Buffer, sizes: Iterator<number>): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const size = 1 + (sizes.next().value ?? bytes.length);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
