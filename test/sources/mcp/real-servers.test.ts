import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { fromMcp, type McpServer } from "../../../src/index.ts";
import { declareTools } from "../../../src/tools/declarations/declarations.ts";
import { someOf, testOfAll } from "../../support/all-tests.ts";
import { call, CONNECT_MS, realServer, READ, run, serverFile, startProcess, WRITE } from "./servers.ts";
import { freePort } from "../../support/free-port.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "portcullis-mcp-")));
afterAll(() => rmSync(folder, { recursive: true }));

// ---- everything, by both transports ------------------------------------------------------------------------------

async function overHttp(): Promise<McpServer & AsyncDisposable> {
  const port = await freePort();
  const server = await startProcess(
    [serverFile("server-everything"), "streamableHttp"],
    { PORT: String(port) },
    /listening on port/i,
  );
  return {
    name: "all",
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function overStdio(): Promise<McpServer & AsyncDisposable> {
  return { ...realServer("server-everything", "all"), async [Symbol.asyncDispose]() {} };
}

describe.each(
  someOf(
    [
      ["stdio", overStdio],
      ["Streamable HTTP", overHttp],
    ] as const,
    1,
  ),
)("server-everything over %s", (_transport, start) => {
  test("has its tools, values, contents, failures and questions", async () => {
    await using started = await start();
    const { [Symbol.asyncDispose]: _, ...server } = started;
    await using source = await fromMcp(server, WRITE);
    expect(source.problems).toEqual([
      '"simulate-research-query" is left out: it can be called only as a task, which is not supported.',
    ]);
    expect(source.tools.length).toBeGreaterThan(10);
    const { tools } = source;
    expect(await call(tools, 'all.echo({ message: "hi" })')).toBe("Echo: hi");
    expect(await call(tools, "all.get_sum({ a: 1, b: 2 })")).toContain("3");
    expect(await call(tools, "all.get_sum({ a: 1 })")).toMatchObject({ code: "input_invalid" });
    expect(await call(tools, 'all.get_structured_content({ location: "Chicago" })')).toEqual({
      temperature: expect.any(Number),
      conditions: expect.any(String),
      humidity: expect.any(Number),
    });
    expect(declareTools(tools)).toMatch(/tools\.all\.get_structured_content\(.*Promise<\{ temperature: number/);
    const image = (await call(tools, "all.get_tiny_image({})")) as { readonly content: readonly object[] };
    expect(image.content.map(({ type }: { type?: string }) => type)).toEqual(["text", "image", "text"]);
    expect(image.content[1]).toEqual({ type: "image", data: expect.any(String), mimeType: "image/png" });
    const links = (await call(tools, "all.get_resource_links({ count: 2 })")) as {
      readonly content: readonly object[];
    };
    expect(links.content).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: "resource_link", uri: expect.any(String) })]),
    );
    const embedded = await call(tools, 'all.get_resource_reference({ resourceType: "Text", resourceId: 1 })');
    expect(embedded).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: "resource" })]),
    });

    const approve = vi.fn(() => false);
    expect(await call(tools, "all.trigger_elicitation_request({})", { approve })).toMatchObject({
      content: [{ type: "text", text: expect.stringContaining("declined") }, expect.anything()],
    });
    expect(approve).toHaveBeenCalledTimes(1);
  });
});

const MODERN = fileURLToPath(new URL("fixtures/modern-server.ts", import.meta.url));
const modern = { name: "modern", command: process.execPath, args: [MODERN], connectTimeoutMs: CONNECT_MS };

test("a server of the package is spoken to in the new version over stdio", async () => {
  await using source = await fromMcp({ ...modern, protocol: "2026-07-28" }, WRITE);
  expect(await call(source.tools, 'modern.shout({ text: "hi" })')).toEqual({ loud: "HI" });
  expect(await call(source.tools, 'modern.remove({ file: "a" })', { approve: () => true })).toBe("removed a");
});

testOfAll("a server that speaks both versions is found to speak the new one", async () => {
  await using both = await fromMcp(modern, WRITE);
  expect(await call(both.tools, 'modern.remove({ file: "a" })')).toBe("kept a");
});

// ---- files, memory, thinking -------------------------------------------------------------------------------------

testOfAll("server-filesystem: reads and writes in its folder alone, and its failures reach the program", async () => {
  writeFileSync(join(folder, "a.txt"), "alpha");
  await using source = await fromMcp(realServer("server-filesystem", "files", folder), (_name, { readOnlyHint }) =>
    readOnlyHint === true ? READ : WRITE,
  );
  const effects = new Map(source.tools.map(({ name, effect }) => [name, effect]));
  expect(effects.get("files.read_text_file")).toBe("read");
  expect(effects.get("files.write_file")).toBe("write");
  const { outcome } = await run(
    source.tools,
    `const path = ${JSON.stringify(folder)};
     const { content } = await tools.files.read_text_file({ path: path + "/a.txt" });
     await tools.files.write_file({ path: path + "/b.txt", content: content + "bet" });
     const failed = await tools.files.read_text_file({ path: "/etc/passwd" }).catch(({ code, message }) => code + ": " + message);
     return [content, failed];`,
  );
  expect(outcome).toMatchObject({
    value: ["alpha", expect.stringMatching(/^handler_failed: Access denied - path outside allowed directories/)],
  });
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("alphabet");
});
