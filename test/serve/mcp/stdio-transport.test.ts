import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { StdioTransport } from "../../../src/serve/mcp/stdio-transport.ts";

async function opened() {
  const input = new PassThrough();
  const written: { readonly id?: unknown; readonly error?: { readonly message: string } }[] = [];
  const got: unknown[] = [];
  const write = async (text: string) => void written.push(JSON.parse(text) as object);
  const transport = new StdioTransport({ input, write });
  Object.assign(transport, { onmessage: (message: object) => void got.push("id" in message ? message.id : undefined) });
  await transport.start();
  const ping = (id: number, more = "") => input.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"${more}}\n`);
  return { input, written, got, ping, transport };
}

test("messages are passed on in the client's order, also behind one that is read in slices", async () => {
  const { ping, got, transport } = await opened();
  ping(1);
  ping(2, `,"params":{"text":"${"x".repeat(3_000_000)}"}`);
  ping(3);
  ping(4, `,"params":{"arguments":{"rows":[${"[],".repeat(20_000)}1]}}`);
  ping(5);
  await expect.poll(() => got).toEqual([1, 2, 3, 4, 5]);
  await transport.close();
});

test.each([
  ["nested deeply", `,"params":${"[".repeat(100_000)}${"]".repeat(100_000)}`, "nested at most 108 levels"],
  ["of many values", `,"params":{"arguments":[${"1,".repeat(200_000)}1]}`, "at most 65536 values"],
  [
    "of many fields",
    `,"params":{${Array.from({ length: 3000 }, (_, n) => `"f${n}":1`).join(",")}}`,
    "at most 2000 values",
  ],
])("a message that is %s is answered with the bound, and the next one is served", async (_, more, said) => {
  const { ping, got, written, transport } = await opened();
  ping(7, more);
  ping(8);
  await expect.poll(() => got).toEqual([8]);
  expect(written).toMatchObject([{ id: 7, error: { message: expect.stringContaining(said) as string } }]);
  await transport.close();
});

test("a client that sends faster than its messages are read is paused, and loses none", async () => {
  const { input, ping, got, transport } = await opened();
  let wasPaused = false;
  input.on("pause", () => {
    wasPaused = true;
  });
  for (let id = 1; id <= 12; id += 1) ping(id, `,"params":{"text":"${"x".repeat(3_000_000)}"}`);
  await expect.poll(() => got.length).toBe(12);
  expect(wasPaused).toBe(true);
  await transport.close();
});

/** A client that reads nothing until it is told to. */
async function unread() {
  const input = new PassThrough();
  const reading = Promise.withResolvers<void>();
  const got: unknown[] = [];
  const transport = new StdioTransport({ input, write: () => reading.promise });
  Object.assign(transport, {
    onmessage: (message: { readonly id?: number; readonly method: string }) => {
      got.push(message.id ?? message.method);
      if (message.id !== undefined) void transport.send({ jsonrpc: "2.0", id: message.id, result: {} });
    },
  });
  await transport.start();
  const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  return { input, send, got, read: reading.resolve, transport };
}

test.each(["resources/list", "resources/read", "tools/list"])(
  "what follows %s is read when the client has its answer, which may be large",
  async (method) => {
    const { send, got, read, transport } = await unread();
    for (let id = 1; id <= 100; id += 1) send({ id, method });
    await expect.poll(() => got).toEqual([1]);
    read();
    await expect.poll(() => got.length).toBe(100);
    await transport.close();
  },
);

test("of a client that reads no answer, few messages are passed on, and none is lost", async () => {
  const { input, send, got, read, transport } = await unread();
  send({ id: 1, method: "ping" });
  const text = "x".repeat(60_000);
  for (let sent = 0; sent < 1000; sent += 1) send({ method: "notifications/x", params: { text } });
  await expect.poll(() => input.isPaused()).toBe(true);
  expect(got.length).toBeLessThan(300);
  read();
  await expect.poll(() => got.length).toBe(1001);
  await transport.close();
});
