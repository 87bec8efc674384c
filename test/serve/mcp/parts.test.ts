import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { content, createRuntime, defineTool, fromMcp, type McpSource, type PartInput, type Tool } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { openMcpDoor } from "../../../src/serve/mcp/mcp-door.ts";
import { rawServer, realServer, serverFile } from "../../sources/mcp/servers.ts";

const ASKED = { signal: undefined, asking: { type: "none" }, notify: undefined } as const;

async function called(tools: readonly Tool[], name: string, input = {}, limits = {}) {
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox(), limits });
  const door = await openMcpDoor({ runtime, version: "1" });
  return await door.callsOf({ id: "ann", tenant: "acme" }).call(name, input, ASKED);
}

const drawing = (give: () => unknown) =>
  defineTool({
    name: "desk.draw",
    description: "draws",
    inputSchema: z.object({}),
    allowedCallers: ["direct"],
    effect: "read",
    execute: give,
  });

const DATA = Buffer.from("pixels").toString("base64");
const PARTS: readonly [PartInput, object][] = [
  [
    { type: "image", mediaType: "image/png", data: DATA },
    { type: "image", data: DATA, mimeType: "image/png" },
  ],
  [
    { type: "file", mediaType: "audio/wav", data: DATA },
    { type: "audio", data: DATA, mimeType: "audio/wav" },
  ],
  [
    { type: "file", mediaType: "application/pdf", data: DATA, name: "a b.pdf" },
    {
      type: "resource",
      resource: { uri: "portcullis://parts/3/a%20b.pdf", mimeType: "application/pdf", blob: DATA },
    },
  ],
  [
    { type: "link", url: "https://a.example/x", name: "x" },
    { type: "resource_link", uri: "https://a.example/x", name: "x" },
  ],
];

describe("a direct call of a tool of the host", () => {
  test("gives its value, and each part as a block of the protocol", async () => {
    const draw = () => content({ value: { points: 12 }, parts: PARTS.map(([part]) => part) });
    const { content: blocks } = await called([drawing(draw)], "desk-draw");
    expect(blocks).toEqual([{ type: "text", text: '{"points":12}' }, ...PARTS.map(([, block]) => block)]);
  });

  test("gives an object as structured content too, as it is, and nothing else as such", async () => {
    const structured = async (value: unknown) => (await called([drawing(() => value)], "desk-draw")).structuredContent;
    for (const value of [
      { points: 12, name: "a\u001b[31m\r\n\u0645\u06cc\u200c\u062e" },
      { content: [{ type: "text", text: "a", id: 1 }] },
    ])
      expect(await structured(value)).toEqual(value);
    for (const other of [[1], "text", 7, { long: "x".repeat(100_000) }])
      expect(await structured(other)).toBeUndefined();
  });

  test("gives the parts of a value that is too large too", async () => {
    const draw = () => content({ value: "x".repeat(100_000), parts: [PARTS[0]?.[0] as PartInput] });
    const { content: blocks } = await called([drawing(draw)], "desk-draw");
    expect(blocks.map(({ type }) => type)).toEqual(["text", "resource_link", "image"]);
  });

  test("gives the value and the parts of a failure, marked as one", async () => {
    const parts = [PARTS[0]?.[0] as PartInput];
    const image = PARTS[0]?.[1];
    const failed = (value: unknown) => called([drawing(() => content({ isError: true, value, parts }))], "desk-draw");
    expect(await failed("No axis.")).toEqual({ isError: true, content: [{ type: "text", text: "  No axis." }, image] });
    expect(await failed({ code: 5 })).toEqual({
      isError: true,
      content: [{ type: "text", text: '{"code":5}' }, image],
    });
    const large = await failed(Array.from({ length: 20_000 }, (_, id) => ({ id })));
    expect([large.isError, large.content.map(({ type }) => type)]).toEqual([true, ["text", "resource_link", "image"]]);
  });

  const LINK = { type: "resource_link", uri: "https://a.example/x", name: "x" };
  const IMAGE = { type: "image", data: DATA, mimeType: "image/png" };
  test.each<[string, readonly object[], readonly object[]]>([
    ["the size of a link, also of nothing", [{ ...LINK, size: 0 }], [{ ...LINK, size: 0 }]],
    [
      "the bytes of each block, also after a link that tells its own number",
      [
        { ...LINK, bytes: 6 },
        { type: "image", mimeType: "image/png", bytes: 6 },
      ],
      [LINK, IMAGE],
    ],
  ])("passes on %s", async (_, given, blocks) => {
    const parts = given.some((one) => "mimeType" in one) ? [PARTS[0]?.[0] as PartInput] : [];
    const draw = () => content({ value: { content: given }, parts });
    expect((await called([drawing(draw)], "desk-draw")).content).toEqual(blocks);
  });

  test.each([
    { type: "image", mimeType: "image/png", blob: DATA },
    { type: "resource", resource: { uri: "https://a.example/x", data: DATA } },
  ])("takes no bytes from where the protocol has none: %j", async (block) => {
    const { content: blocks } = await called([drawing(() => ({ content: [block] }))], "desk-draw");
    expect(blocks).toEqual([{ type: "text", text: JSON.stringify({ content: [block] }) }]);
  });

  test("names what does not fit into one result, with its size", async () => {
    const large = Buffer.alloc(4 * 1024 * 1024, 1).toString("base64");
    const parts = [1, 2].map(() => ({ type: "image", mediaType: "image/png", data: large }) as const);
    const { content: blocks } = await called(
      [drawing(() => content({ value: 1, parts }))],
      "desk-draw",
      {},
      {
        resultBytes: 256 * 1024 * 1024,
      },
    );
    expect(blocks.map(({ type }) => type)).toEqual(["text", "image", "text"]);
    expect(blocks.at(-1)).toMatchObject({
      text: expect.stringMatching(/^Left out.*part 2 \(5\.\d MiB\)\.$/) as string,
    });
  });
});

/** Without what servers tell clients about blocks, and what only the protocol's package adds. */
const plain = (blocks: readonly object[]) =>
  blocks.map((block) => {
    const { annotations: _hints, _meta: _, ...shown } = block as Record<string, unknown>;
    return shown;
  });

describe("a direct call of a tool of an MCP server", () => {
  const client = new Client({ name: "test", version: "1" });
  let source: McpSource;
  beforeAll(async () => {
    const args = [serverFile("server-everything")];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
    source = await fromMcp(realServer("server-everything", "all"), { allowedCallers: ["direct"], effect: "read" });
  });
  afterAll(async () => {
    await client.close();
    await source[Symbol.asyncDispose]();
  });

  test.each([
    ["get-tiny-image", {}],
    ["get-resource-links", { count: 3 }],
    ["get-resource-reference", { resourceType: "Blob", resourceId: 2 }],
    ["get-annotated-message", { messageType: "success", includeImage: true }],
  ])("gives the blocks that a client of the server gets: %s %j", async (name, input) => {
    const own = await client.callTool({ name, arguments: input });
    const letters = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");
    const tool = source.tools.find((one) => letters(one.name) === letters(`all.${name}`));
    const { content: blocks } = await called(source.tools, tool?.name ?? "", input);
    const types = (all: readonly object[]) => all.map((block) => (block as { type: string }).type);
    expect(types(blocks)).toEqual(types(own.content as readonly object[]));
    const binary = (all: readonly object[]) => plain(all).filter(({ type }) => type !== "text");
    // A resource tells the time at which it was made.
    const timeless = (all: readonly object[]) =>
      JSON.parse(JSON.stringify(all).replaceAll(/\d{1,2}:\d\d:\d\d/g, "TIME")) as readonly object[];
    if (!JSON.stringify(own.content).includes('"blob"'))
      expect(timeless(binary(blocks))).toMatchObject(timeless(binary(own.content as readonly object[])) as never);
    else expect(JSON.stringify(blocks)).toMatch(/"blob":"[A-Za-z0-9+/=]{10,}"/);
  });
});

describe("a failure of a tool of an MCP server", () => {
  const image = { type: "image", data: "cGl4ZWxz", mimeType: "image/png" };
  const given = (structured: boolean) => ({ text: structured ? "structured" : "" });
  let source: McpSource;
  beforeAll(async () => {
    const server = { ...rawServer("failing-fully"), env: { API_TOKEN: "t0ken-12345" } };
    source = await fromMcp(server, { allowedCallers: ["direct", "programmatic"], effect: "read" });
  });
  afterAll(() => source[Symbol.asyncDispose]());

  test("is passed on with its blocks, and with what it is made of", async () => {
    const said = { type: "text", text: "  No axis." };
    expect(await called(source.tools, "raw-echo", given(false))).toEqual({ isError: true, content: [said, image] });
    const structured = { type: "text", text: '{"code":5,"token":"[secret]"}' };
    const whole = { isError: true, content: [said, structured, image] };
    expect(await called(source.tools, "raw-echo", given(true))).toEqual(whole);
  });
});
