import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect as connectTls } from "node:tls";
import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { isPublicAddress } from "../../../../src/base/index.ts";
import type { EgressLimits } from "../../../../src/sandboxes/docker/egress/egress-plan.ts";
import { AUTHORITY, httpServer, rawServer, tlsServer } from "../../../docker-support/egress-servers.ts";
import { openProxy, type OpenProxy } from "./open-proxy.ts";

const get = (url: string, headers = "Host: whatever.test\r\n") => `GET ${url} HTTP/1.1\r\n${headers}\r\n`;
const tunnelTo = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
const statusOf = (answer: string) => /^HTTP\/1\.1 (\d+ [^\r]*)/.exec(answer)?.[1];

/** Opens a tunnel, and resolves with its two ends once the proxy has said yes. */
async function tunnel(proxy: OpenProxy, authority: string): Promise<Socket> {
  const socket = proxy.connect();
  socket.write(tunnelTo(authority));
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toBe("HTTP/1.1 200 Connection Established\r\n\r\n");
  return socket;
}

/** Asks for `/` by TLS in a tunnel. */
async function askByTls(socket: Socket, servername: string, host = servername): Promise<string> {
  const secured = connectTls({ socket, servername, ca: AUTHORITY });
  secured.write(get("/secret", `Host: ${host}\r\nConnection: close\r\n`));
  let heard = "";
  secured.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  await once(secured, "end");
  secured.end();
  return heard;
}

/** A host that may be reached, and the proxy by which. */
async function hostBehindProxy(answer?: Parameters<typeof httpServer>[0], limits: Partial<EgressLimits> = {}) {
  const host = await httpServer(answer);
  return { ...host, proxy: await openProxy({ hosts: [`allowed.test:${host.port}`], limits }) };
}

// ---- what works ------------------------------------------------------------------------------------------------

test("a request is forwarded with its host set by the proxy, and its bytes are counted", async () => {
  const { port, asked, proxy } = await hostBehindProxy();
  const answer = await proxy.say(get(`http://allowed.test:${port}/a?b`, "Host: other.test\r\n"));
  expect(statusOf(answer)).toBe("200 OK");
  expect(answer).toContain("GET /a?b ");
  expect(asked).toEqual([`GET /a?b allowed.test:${port}`]);
  const [told] = await proxy.toldOf(1);
  expect(told).toMatchObject({ host: "allowed.test", port, address: "127.0.0.1", outcome: "done", detail: "" });
  expect(told?.bytesUp).toBeGreaterThan(50);
  expect(told?.bytesDown).toBeGreaterThan(100);
});

test.each([
  ["Content-Length: 5\r\n\r\nhello", "hello"],
  ["Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nTrailer: x\r\n\r\n", "hello!"],
])("a body arrives: %j", async (rest, body) => {
  const { port, proxy } = await hostBehindProxy();
  const answer = await proxy.say(`PUT http://allowed.test:${port}/ HTTP/1.1\r\nHost: x\r\n${rest}`);
  expect(answer).toContain(`PUT / ${body}`);
});

test("a body of a GET request is framed as well", async () => {
  const { port, asked, proxy } = await hostBehindProxy();
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const answer = await proxy.say(
    get(`http://allowed.test:${port}/`, `Host: x\r\nContent-Length: ${smuggled.length}\r\n`) + smuggled,
  );
  expect(answer).toContain("GET / GET /smuggled");
  expect(asked).toEqual([`GET / allowed.test:${port}`]);
});

test("TLS passes through a tunnel, to be verified by the client", async () => {
  const { port, asked } = await tlsServer();
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
  expect(await askByTls(await tunnel(proxy, `allowed.test:${port}`), "allowed.test")).toContain("GET /secret");
  expect(asked).toEqual(["GET /secret allowed.test"]);
  const [told] = await proxy.toldOf(1);
  expect(told).toMatchObject({ host: "allowed.test", port, address: "127.0.0.1", outcome: "done" });
  expect(told?.bytesDown).toBeGreaterThan(500);
});

test("plain HTTP in a tunnel is parsed, and its host set by the proxy", async () => {
  const { port, asked, proxy } = await hostBehindProxy();
  const socket = await tunnel(proxy, `allowed.test:${port}`);
  socket.write(get("/in-tunnel", "Host: other.test\r\n"));
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(statusOf(answer.toString())).toBe("200 OK");
  expect(asked).toEqual([`GET /in-tunnel allowed.test:${port}`]);
  expect(await proxy.toldOf(1)).toMatchObject([{ host: "allowed.test", outcome: "done" }]);
});

test("a request without Host is the one request of its connection, within a tunnel too", async () => {
  const { port, asked, proxy } = await hostBehindProxy();
  const [first, second] = [get(`http://allowed.test:${port}/first`, ""), get("/second", "Host: x\r\n")];
  expect(await proxy.say(first)).toContain("GET /first");
  expect(await proxy.say(first + second)).not.toContain("/second");
  expect(await proxy.say(tunnelTo(`allowed.test:${port}`) + first + second)).not.toContain("/second");
  expect(asked).not.toContain(`GET /second allowed.test:${port}`);
});

test("bytes that are sent together with CONNECT go into the tunnel", async () => {
  const { port, proxy } = await hostBehindProxy();
  const answer = await proxy.say(tunnelTo(`allowed.test:${port}`) + get("/together"));
  expect(answer).toContain("200 Connection Established");
  expect(answer).toContain("GET /together");
});

test("repeated headers arrive repeated, hop-by-hop headers not at all", async () => {
  const seen: string[] = [];
  const { port, proxy } = await hostBehindProxy((request, response) => {
    seen.push(...request.rawHeaders);
    response.writeHead(200, "Fine", ["Set-Cookie", "a", "Set-Cookie", "b", "Keep-Alive", "timeout=9"]).end();
  });
  const answer = await proxy.say(
    get(
      `http://allowed.test:${port}/`,
      "Host: x\r\nAccept: a\r\nAccept: b\r\nProxy-Authorization: word\r\nUpgrade: h2c\r\nConnection: Upgrade, X-Own\r\nX-Own: 1\r\n",
    ),
  );
  expect(seen).toEqual(["Host", `allowed.test:${port}`, "Accept", "a", "Accept", "b", "Connection", "close"]);
  expect(answer).toMatch(/^HTTP\/1\.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n/);
  expect(answer).not.toContain("timeout=9");
});

test("ten megabytes arrive whole at a slow client", async () => {
  const { port, proxy } = await hostBehindProxy((_request, response) => response.end(Buffer.alloc(10_000_000, "x")));
  const socket = proxy.connect();
  socket.write(get(`http://allowed.test:${port}/`));
  let bytes = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(bytes).toBeGreaterThan(10_000_000);
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "done" }]);
});

// ---- where it may not go -----------------------------------------------------------------------------------------

const NO_NAME = "The target is not a plain host name";

const NOT_AMONG = "is not among the hosts that this program may reach.";

test.each<readonly [string, string, (target: string) => string]>([
  ["evil.test:443", `evil.test:443 ${NOT_AMONG}`, tunnelTo],
  ...["127.0.0.1:443", "[::1]:443", "2130706433:443"].map((to) => [to, NO_NAME, tunnelTo] as const),
  ...["allowed.test", "allowed.test.:443", "user@allowed.test:443"].map((to) => [to, NO_NAME, tunnelTo] as const),
  ["http://evil.test/", `evil.test:80 ${NOT_AMONG}`, get],
  ...["http://127.0.0.1/", "http://[::1]/", "http://0x7f.1/"].map((url) => [url, NO_NAME, get] as const),
  ...["https://allowed.test/", "/", "*"].map((url) => [url, NO_NAME, get] as const),
])("a tunnel to %s, or a request for it, is refused with a sentence", async (target, words, ask) => {
  const proxy = await openProxy({ hosts: ["allowed.test"] });
  const answer = await proxy.say(ask(target));
  expect(statusOf(answer)).toBe("403 Host Not Allowed");
  expect(answer).toContain(words);
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "refused", address: "", bytesUp: 0, bytesDown: 0 }]);
});

test.each([[["127.0.0.1"]], [["8.8.8.8", "10.0.0.1"]], [["::ffff:8.8.8.8"]], [["169.254.169.254"]]])(
  "a host at %j is not reached",
  async (addresses) => {
    const proxy = await openProxy({
      hosts: ["allowed.test"],
      lookup: async () => addresses,
      mayReach: isPublicAddress,
    });
    expect(statusOf(await proxy.say(tunnelTo("allowed.test:443")))).toBe("403 Address Not Public");
    expect(proxy.told).toMatchObject([
      {
        host: "allowed.test",
        address: "",
        outcome: "refused",
        detail: "allowed.test is at an address that programs may not reach.",
      },
    ]);
  },
);

test("a name is resolved once, so that its address cannot change", async () => {
  const { port } = await httpServer();
  const answers = [["127.0.0.1"], ["127.0.0.2"]];
  const proxy = await openProxy({
    hosts: [`allowed.test:${port}`],
    lookup: async () => answers.shift() ?? [],
  });
  await proxy.say(get(`http://allowed.test:${port}/`));
  await proxy.say(get(`http://allowed.test:${port}/`));
  expect(proxy.told.map(({ address }) => address)).toEqual(["127.0.0.1", "127.0.0.1"]);
  expect(answers).toHaveLength(1);
});

test("a name that is not found and a host that does not answer get different sentences", async () => {
  const proxy = await openProxy({
    hosts: ["allowed.test:1", "unknown.test"],
    lookup: async (host) => {
      if (host === "unknown.test") throw new Error("ENOTFOUND");
      return ["127.0.0.1"];
    },
  });
  expect(statusOf(await proxy.say(tunnelTo("unknown.test:443")))).toBe("502 Host Not Found");
  expect(statusOf(await proxy.say(tunnelTo("allowed.test:1")))).toBe("504 Host Not Reachable");
  expect(proxy.told.map(({ outcome, detail }) => [outcome, detail])).toEqual([
    ["failed", "unknown.test has no address."],
    ["failed", expect.stringMatching(/allowed\.test .*ECONNREFUSED/)],
  ]);
});

test("TLS for another host than the tunnel's is refused before any byte reaches a server", async () => {
  let heard = 0;
  const port = await rawServer((socket) => socket.on("data", (chunk: Buffer) => (heard += chunk.length)));
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
  const socket = await tunnel(proxy, `allowed.test:${port}`);
  const secured = connectTls({ socket, servername: "other.test" });
  await once(secured, "error");
  expect(await proxy.toldOf(1)).toMatchObject([
    { outcome: "refused", bytesUp: 0, detail: expect.stringContaining("server name") },
  ]);
  expect(heard).toBe(0);
});

// ---- clients that are no clients ---------------------------------------------------------------------------------

const POST = "POST http://allowed.test/ HTTP/1.1\r\nHost: x\r\n";

test.each([
  ["two lengths", `${POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
  ["two equal lengths", `${POST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`],
  ["a list of lengths", `${POST}Content-Length: 3, 3\r\n\r\nabc`],
  ["a length and chunks", `${POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["chunks that are none at the end", `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  ["a signed length", `${POST}Content-Length: +3\r\n\r\nabc`],
  ["a space before the colon", `${POST}Content-Length : 3\r\n\r\nabc`],
  ["lines folded", `${POST}X: a\r\n b\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
  ["a bare line feed", "GET http://allowed.test/ HTTP/1.1\nHost: x\n\n"],
  ["NUL in a header", `${POST}X: a\0b\r\n\r\n`],
  ["two hosts", "GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 3, 3\r\n\r\n"],
  ["TLS, where HTTP belongs", Buffer.from([22, 3, 1, 0, 5, 1, 0, 0, 1, 0])],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["another version", "GET http://allowed.test/ HTTP/9.9\r\nHost: x\r\n\r\n"],
  ["nothing known", "EHLO allowed.test\r\n"],
])("%s is refused as a request", async (_what, text) => {
  const proxy = await openProxy({
    hosts: ["allowed.test"],
    lookup: () => Promise.reject(new Error("it was looked up")),
  });
  expect(statusOf(await proxy.say(text))).toBe("400 Bad Request");
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "refused", host: "" }]);
});

test("another transfer coding is refused", async () => {
  const { port, asked, proxy } = await hostBehindProxy();
  const answer = await proxy.say(
    `POST http://allowed.test:${port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  );
  expect(statusOf(answer)).toBe("400 Bad Request");
  expect(asked).toEqual([]);
});

test("headers without an end end the connection", async () => {
  const proxy = await openProxy({ hosts: ["allowed.test"] });
  const answer = await proxy.say(get("http://allowed.test/", `X: ${"a".repeat(20_000)}\r\n`));
  expect(statusOf(answer)).toBe("431 Headers Too Large");
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "refused" }]);
});

test("a second request on the same connection ends it, whatever its host", async () => {
  const { port, asked, proxy } = await hostBehindProxy(
    (_request, response) => void setImmediate(() => response.end("one")),
  );
  const request = get(`http://allowed.test:${port}/`);
  await proxy.say(request + request);
  expect(asked.length).toBeLessThan(2);
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "refused" }]);
  expect(proxy.told).toHaveLength(1);
});

test.each(["x", "100-continue, x", "100-continue"])("a client that expects %j gets one answer", async (expected) => {
  const { port, asked, proxy } = await hostBehindProxy();
  const answer = await proxy.say(get(`http://evil.test/`, `Host: x\r\nExpect: ${expected}\r\n`).repeat(100));
  const answers = [...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].filter(([, status]) => status !== "100");
  expect(answers.length).toBeLessThan(2);
  expect(proxy.told).toMatchObject([{ outcome: "refused" }]);
  await proxy.say(get(`http://allowed.test:${port}/one`, `Host: x\r\nExpect: ${expected}\r\n`));
  expect(asked).toEqual([`GET /one allowed.test:${port}`]);
});

test("a tunnel carries neither a request for another host nor another tunnel", async () => {
  const { port, asked } = await httpServer();
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`, "other.test"] });
  for (const text of [get("http://other.test/"), tunnelTo("other.test:443"), "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"]) {
    const socket = await tunnel(proxy, `allowed.test:${port}`);
    socket.write(text);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(statusOf(answer.toString())).toBe("403 Host Not Allowed");
  }
  expect(asked).toEqual([]);
});

test.each([
  ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", /sent no valid answer/],
  ["HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", /sent no valid answer/],
  ["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab", /^The host broke off the connection\.$/],
])("a reply that is malformed, changes the protocol or breaks off fails: %j", async (reply, detail) => {
  const port = await rawServer((socket) => void (reply.includes(" 101 ") ? socket.write(reply) : socket.end(reply)));
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
  const answer = await proxy.say(get(`http://allowed.test:${port}/`));
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "failed", detail: expect.stringMatching(detail) as string }]);
  expect(statusOf(answer)).toBe(reply.includes(": 100") ? "200 OK" : "502 No Answer");
});

test("a host that sends interim answers without end is given up", async () => {
  const port = await rawServer((socket) => {
    const more = () => {
      while (socket.writable && socket.write("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n".repeat(1000)));
    };
    socket.on("drain", more);
    more();
  });
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
  const answer = await proxy.say(get(`http://allowed.test:${port}/`));
  expect(answer).toContain("allowed.test sent no valid answer: too many interim answers.");
  expect(proxy.told[0]?.bytesDown).toBeLessThan(1_000_000);
});

// ---- limits --------------------------------------------------------------------------------------------------------

test.each([
  ["says nothing", ""],
  ["says it byte by byte", "GET http://allowed.test/ HT"],
])("the connection of a client that %s is ended", async (_what, text) => {
  const proxy = await openProxy({ hosts: ["allowed.test"], limits: { headerMs: 50 } });
  const socket = proxy.connect();
  let next = 0;
  const drip = setInterval(() => next < text.length && socket.write(text[next++] ?? ""), 10);
  onTestFinished(() => clearInterval(drip));
  socket.resume();
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "cut", detail: expect.stringContaining("in time") }]);
});

test.each(["", "CONNECT"])("bytes before a request, empty lines too, are bounded (%s)", async (way) => {
  const { port, proxy } = await hostBehindProxy();
  const socket = way === "" ? proxy.connect() : await tunnel(proxy, `allowed.test:${port}`);
  const more = () => {
    while (socket.writable && socket.write("\r\n".repeat(30_000)));
  };
  socket.on("drain", more);
  more();
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "cut", detail: expect.stringContaining("too many bytes") }]);
});

test("a client that sends nothing into its tunnel, or only a part of a hello, is disconnected", async () => {
  const { port, proxy } = await hostBehindProxy(undefined, { headerMs: 50 });
  await tunnel(proxy, `allowed.test:${port}`);
  const socket = await tunnel(proxy, `allowed.test:${port}`);
  socket.write(Buffer.from([22, 3, 1, 0, 200, 1]));
  expect(await proxy.toldOf(2)).toMatchObject([{ outcome: "cut" }, { outcome: "cut" }]);
});

test("a hello that is too long is refused", async () => {
  const { port, proxy } = await hostBehindProxy();
  const socket = await tunnel(proxy, `allowed.test:${port}`);
  const long = Buffer.alloc(17_000);
  long.set([22, 3, 1, 0xff, 0xff, 1]);
  socket.write(long);
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "refused", detail: expect.stringContaining("ClientHello") }]);
});

test("a host that never answers and a client that never reads are disconnected after idle time", async () => {
  const silent = await rawServer(() => {});
  const flooding = await httpServer((_request, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  });
  const proxy = await openProxy({
    hosts: [`allowed.test:${silent}`, `allowed.test:${flooding.port}`],
    limits: { idleMs: 100 },
  });
  proxy.connect().write(get(`http://allowed.test:${silent}/`));
  const deaf = proxy.connect().pause();
  deaf.write(get(`http://allowed.test:${flooding.port}/`));
  const told = await proxy.toldOf(2);
  expect(told.map(({ outcome, detail }) => [outcome, detail])).toEqual([
    ["cut", "No bytes moved for 100 ms."],
    ["cut", "No bytes moved for 100 ms."],
  ]);
});

test("a connection is ended after its maximum time", async () => {
  const port = await rawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const drip = setInterval(() => socket.write("x"), 5);
    socket.on("close", () => clearInterval(drip));
  });
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`], limits: { connectionMs: 100 } });
  await proxy.say(get(`http://allowed.test:${port}/`));
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "cut", detail: expect.stringContaining("100 ms") }]);
});

test("a half-closed connection is closed", async () => {
  const { port, proxy } = await hostBehindProxy();
  const socket = proxy.connect();
  socket.end(get(`http://allowed.test:${port}/half`));
  socket.resume();
  await once(socket, "close");
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "failed" }]);
});

test("totalBytes bounds the bytes of all connections in both directions", async () => {
  const { port, proxy } = await hostBehindProxy((_request, response) => response.end(Buffer.alloc(1_000_000)), {
    totalBytes: 1_500_000,
  });
  const url = `http://allowed.test:${port}/`;
  expect((await proxy.say(get(url))).length).toBeGreaterThan(1_000_000);
  expect((await proxy.say(get(url))).length).toBeLessThan(1_000_000);
  const third = await proxy.say(get(url));
  expect(statusOf(third)).toBe("403 Bytes Spent");
  expect(third).toContain("1500000 bytes");
  expect(proxy.told.map(({ outcome }) => outcome)).toEqual(["done", "cut", "refused"]);
  const moved = proxy.told.reduce((sum, { bytesUp, bytesDown }) => sum + bytesUp + bytesDown, 0);
  expect(moved).toBeLessThan(1_500_000 + 256 * 1024);
});

/** A body of so many parts, each of one byte. */
const parts = (count: number) => `${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`;

test("what a body takes beside its content counts, and each part of it", async () => {
  const port = await rawServer((socket) =>
    socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${parts(100_000)}`)),
  );
  const [small, usual] = await Promise.all(
    [400_000, undefined].map(async (totalBytes) => {
      const proxy = await openProxy({
        hosts: [`allowed.test:${port}`],
        limits: totalBytes === undefined ? {} : { totalBytes },
      });
      await proxy.say(get(`http://allowed.test:${port}/`));
      return proxy.told[0];
    }),
  );
  expect(usual).toMatchObject({ outcome: "done" });
  expect(small).toMatchObject({ outcome: "cut" });
  expect(small?.bytesDown).toBeLessThan(400_000);
});

test("the parts of a body that arrive together are forwarded together", async () => {
  let heard = "";
  const port = await rawServer((socket) =>
    socket.on("data", (chunk: Buffer) => {
      heard += chunk.toString();
      if (heard.endsWith("\r\n0\r\n\r\n")) socket.end("HTTP/1.1 204 No Content\r\n\r\n");
    }),
  );
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
  const head = `POST http://allowed.test:${port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
  expect(statusOf(await proxy.say(head, parts(20_000)))).toBe("204 No Content");
  const sizes = [...heard.matchAll(/\r\n([\da-f]+)\r\nx/g)].map(([, size]) => Number.parseInt(size ?? "", 16));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20_000);
  expect(sizes.length).toBeLessThan(100);
});

test("the number of connections at once is bounded", async () => {
  const port = await rawServer(() => {});
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`], limits: { connectionsAtOnce: 3 } });
  for (let count = 0; count < 3; count += 1) await tunnel(proxy, `allowed.test:${port}`);
  await proxy.say(tunnelTo(`allowed.test:${port}`));
  expect(proxy.told).toMatchObject([{ outcome: "refused", detail: "3 connections were open already." }]);
});

test("the number of connections in all is bounded, and thousands more cost nothing", async () => {
  const proxy = await openProxy({ hosts: ["allowed.test"], limits: { connections: 50 } });
  for (let count = 0; count < 40; count += 1)
    await Promise.all(Array.from({ length: 50 }, () => proxy.say(tunnelTo("evil.test:443"))));
  expect(proxy.told).toHaveLength(50);
  expect(new Set(proxy.told.map(({ outcome }) => outcome))).toEqual(new Set(["refused"]));
});

// ---- the end -------------------------------------------------------------------------------------------------------

test("closing ends open connections, reports them before it resolves, and leaves no socket", async () => {
  const port = await rawServer(() => {});
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`] });
  await tunnel(proxy, `allowed.test:${port}`);
  const socket = await tunnel(proxy, `allowed.test:${port}`);
  proxy.proxy.close();
  expect(proxy.told.map(({ outcome, detail }) => [outcome, detail])).toEqual([
    ["cut", "The guest has ended."],
    ["cut", "The guest has ended."],
  ]);
  socket.resume();
  await once(socket, "end");
  expect(existsSync(proxy.path)).toBe(false);
});

test("a client that disconnects during name resolution leaves nothing behind", async () => {
  const found = Promise.withResolvers<readonly string[]>();
  const { port, asked } = await httpServer();
  const proxy = await openProxy({ hosts: [`allowed.test:${port}`], lookup: () => found.promise });
  const socket = proxy.connect();
  socket.write(get(`http://allowed.test:${port}/`), () => socket.destroy());
  expect(await proxy.toldOf(1)).toMatchObject([{ outcome: "failed" }]);
  found.resolve(["127.0.0.1"]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual([]);
});

test("names that wait for resolution when the guest ends are not resolved", async () => {
  const first = Promise.withResolvers<readonly string[]>();
  const asked: string[] = [];
  const way = await openProxy({
    hosts: ["*.allowed.test"],
    lookup: (host) => {
      asked.push(host);
      return first.promise;
    },
  });
  for (let n = 0; n < 8; n += 1) way.connect().write(`CONNECT n${n}.allowed.test:443 HTTP/1.1\r\n\r\n`);
  await expect.poll(() => asked).toHaveLength(1);
  // Those behind it have come too once one more is refused.
  way.connect().write("CONNECT other.test:443 HTTP/1.1\r\n\r\n");
  await way.toldOf(1);
  way.proxy.close();
  first.resolve([]);
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toHaveLength(1);
});
