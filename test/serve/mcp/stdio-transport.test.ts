import { PassThrough } from "node:stream";
import { createRuntime } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { openMcpDoor } from "../../../src/serve/mcp/mcp-door.ts";
import { stdioTransport } from "../../../src/serve/mcp/stdio-transport.ts";
import { doorTools } from "./tools-of-doors.ts";

async function opened(passedOn: () => void | Promise<void> = () => {}) {
  const input = new PassThrough();
  const written: { readonly id?: unknown; readonly error?: { readonly message: string } }[] = [];
  const got: unknown[] = [];
  const write = async (text: string) => {
    written.push(JSON.parse(text) as object);
    await passedOn();
  };
  const transport = stdioTransport({ input, write });
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
  [
    "made with a number that no double keeps",
    ',"params":{"arguments":{"id":9007199254740993}}',
    "params.arguments.id: 9007199254740993 would become 9007199254740992",
  ],
  ["made with a name twice", ',"params":{"arguments":{"id":1,"id":2}}', "params.arguments.id: it is given twice"],
])("a message that is %s is refused with the reason, and the next one is served", async (_, more, said) => {
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

test("of a client that reads no answer, few messages are passed on, and none is lost", async () => {
  const { promise: reading, resolve: read } = Promise.withResolvers<void>();
  const { input, ping, got, transport } = await opened(() => reading);
  void transport.send({ jsonrpc: "2.0", id: 0, result: {} });
  for (let id = 1; id <= 1000; id += 1) ping(id, `,"params":{"text":"${"x".repeat(60_000)}"}`);
  await expect.poll(() => input.isPaused()).toBe(true);
  expect(got.length).toBeLessThan(300);
  read();
  await expect.poll(() => got.length).toBe(1000);
  await transport.close();
});

/** A door on standard streams, whose client may stop reading. */
async function openDoor() {
  const runtime = await createRuntime({ tools: doorTools(), sandbox: createMemorySandbox() });
  const door = await openMcpDoor({ runtime, version: "1" });
  const input = new PassThrough();
  const written: number[] = [];
  const client = { written, reading: Promise.resolve() };
  const write = async (text: string) => {
    written.push(...[JSON.parse(text) as { readonly id?: number }].flatMap(({ id = [] }) => id));
    await client.reading;
  };
  const transport = stdioTransport({ input, write });
  const server = () => door.serverFor({ id: "one", tenant: "default" }, transport.answerTurn);
  const handle = door.mcp.serveStdio(server, { transport });
  const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "client", version: "1" };
  send({ id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  send({ method: "notifications/initialized" });
  await expect.poll(() => written).toEqual([0]);
  return Object.assign(client, {
    send,
    async [Symbol.asyncDispose]() {
      await handle.close();
      await runtime[Symbol.asyncDispose]();
    },
  });
}

test.each(["resources/list", "tools/list", "resources/read"])(
  "of answers to %s, which may be large, a client that reads none is written one",
  async (method) => {
    await using door = await openDoor();
    const { promise, resolve: read } = Promise.withResolvers<void>();
    door.reading = promise;
    for (let id = 1; id <= 100; id += 1) door.send({ id, method, params: { uri: "portcullis://values/none" } });
    await expect.poll(() => door.written.length).toBe(2);
    // Others are answered meanwhile, and by then the second one would be.
    door.send({ id: 101, method: "ping" });
    await expect.poll(() => door.written).toContain(101);
    expect(door.written).toEqual([0, 1, 101]);
    door.send({ method: "notifications/cancelled", params: { requestId: 2 } });
    read();
    await expect.poll(() => door.written.length).toBe(101);
    expect(door.written).not.toContain(2);
  },
);

test("what the protocol's package drops unanswered holds up nothing behind it", async () => {
  await using door = await openDoor();
  door.send({ id: 1, method: "tools/list", params: [] });
  door.send({ id: 2, method: "tools/list" });
  door.send({ id: 3, method: "ping" });
  await expect.poll(() => new Set(door.written)).toEqual(new Set([0, 2, 3]));
});
