import { connect } from "node:net";
import { expect, test } from "vitest";
import { ALL_TESTS } from "../support/all-tests.ts";
import { sendMutated } from "./mutated-requests.ts";
import { KEYS, keyOf, openServer } from "./servers.ts";

const RUNS = ALL_TESTS ? 10_000 : 300;

test(`${RUNS} mutated requests: each is answered with a status of the table, none fails the server`, async () => {
  await using door = await openServer();
  const codes = await sendMutated(door, RUNS);
  expect([...codes]).toEqual(
    expect.arrayContaining(["request_invalid", "execution_unknown", "key_unknown", "method_unknown"]),
  );
  expect((await door.run({ program: "return 2" })).json.outcome.value).toBe(2);
}, 300_000);

test("a body of 20 MB is refused by its length before it is read, and by its size where it says none", async () => {
  await using door = await openServer();
  let pulled = 0;
  const sent = (headers: Record<string, string>) => {
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        if (pulled > 320) controller.close();
        else controller.enqueue(new Uint8Array(64 * 1024).fill(32));
      },
    });
    return door.server.fetch(
      new Request("http://localhost/v1/executions", {
        method: "POST",
        headers: { authorization: `Bearer ${keyOf("ann")}`, "content-type": "application/json", ...headers },
        body: stream,
        duplex: "half",
      } as RequestInit),
    );
  };
  expect((await sent({ "content-length": "20971520" })).status).toBe(413);
  expect(pulled).toBeLessThan(3);
  pulled = 0;
  expect((await sent({})).status).toBe(413);
  expect(pulled).toBeLessThan(80);
});

/** What a server answers to bytes that are sent as they are. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    answer += String(chunk);
  });
  socket.on("error", () => {});
  socket.write(bytes);
  // A server that refuses may reset the connection, by which `once` of node would reject.
  await new Promise((resolve) => socket.once("close", resolve));
  return answer;
}

test.each([
  ["what is no HTTP", "hello\r\n\r\n", 400],
  ["headers without an end", `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(40_000)}`, 431],
  ["a request that does not come", "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\n", 408],
  ["two lengths", "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx", 400],
  [
    "a length and chunks",
    "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
  ],
  ["no host", "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
  [
    "an address in place of a path",
    "GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    421,
  ],
])("%s is answered with a status and a body, and the connection ends", async (_, bytes, status) => {
  await using door = await openServer({ keys: KEYS, headersMs: 300, requestMs: 400 });
  const { url } = await door.server.listen({ port: 0 });
  const answer = await raw(Number(new URL(url).port), bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});
