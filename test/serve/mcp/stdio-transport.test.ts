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
