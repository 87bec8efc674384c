import { createMcpHandler, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { agentAsTool, createRuntime, fromMcp, type McpSource, type Tool } from "../../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import { type HttpServer, serveByHand, serveFetch } from "./http-servers.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { call, READ, run, WRITE } from "./servers.ts";
import { makeTool } from "../../support/tools.ts";

const BOTH = { allowedCallers: ["direct", "programmatic"], effect: "read" } as const;
const sandbox = createMemorySandbox();

// ---- a server by hand ----------------------------------------------------------------------------------------------

interface ByHand {
  /** The content of a call's result, by the tool's name. */
  readonly results?: Readonly<Record<string, readonly object[]>>;
  readonly read?: (uri: string) => object;
  readonly capabilities?: object;
}

/** A server of the old version with resources, and what it was asked to read. */
async function serveResources({
  results = { links: [LINK("doc:a"), LINK("doc:b")] },
  read = (uri) => ({ contents: [{ uri, text: `text of ${uri}` }] }),
  capabilities = { tools: {}, resources: {} },
}: ByHand = {}): Promise<HttpServer & { readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const reading = ({ uri = "" }) => (asked.push(uri), read(uri));
  const server = await serveByHand(({ name, send }) => send({ content: results[name] ?? [] }), {
    capabilities,
    tools: Object.keys(results),
    others: { "resources/read": reading },
  });
  return Object.assign(server, { asked });
}

const LINK = (uri: string) => ({ type: "resource_link", uri, name: "a document" });

const sourceOf = ({ url }: HttpServer, name = "docs", policy: object = BOTH): Promise<McpSource> =>
  fromMcp({ name, url, protocol: "2025-11-25", resources: true }, policy as typeof READ);

/** The source of such a server, which ends with its test; `asked` is what the server was asked to read. */
async function sourceWith(served?: ByHand) {
  const server = await serveResources(served);
  const source = await sourceOf(server);
  onTestFinished(async () => {
    await source[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { tools: source.tools, problems: source.problems, asked: server.asked };
}

const tried = (expression: string) =>
  `try { return await tools.${expression} } catch (error) { return error.code + ": " + error.message }`;

async function valueOf(tools: readonly Tool[], program: string): Promise<unknown> {
  const { outcome } = await run(tools, program);
  return outcome.type === "completed" ? outcome.value : outcome;
}

// ---- what it reads -------------------------------------------------------------------------------------------------

test("without resources: true there is no such tool, and results name nothing", async () => {
  await using server = await serveResources();
  await using source = await fromMcp({ name: "docs", url: server.url, protocol: "2025-11-25" }, READ);
  expect(source.tools.map(({ name }) => name)).toEqual(["docs.links"]);
  const { calls } = await run(source.tools, "await tools.docs.links({})");
  expect(calls[0]).not.toHaveProperty("named");
});

test("the tool reads, whatever the policy of the server's tools says of effects, and has its callers and approval", async () => {
  await using server = await serveResources();
  await using source = await sourceOf(server, "docs", { ...WRITE, approval: "always" });
  const reader = source.tools.find(({ name }) => name === "docs.read_resource");
  expect(reader).toMatchObject({ effect: "read", approvable: true, place: "mcp docs", source: "docs" });
  expect(reader?.allowedCallers).toEqual(["programmatic"]);
});

test("a link of a result is read, the rest is refused and not asked for", async () => {
  const { tools, asked } = await sourceWith();
  const value = await valueOf(
    tools,
    `
    const before = await tools.docs.read_resource({ uri: "doc:a" }).catch((error) => error.code);
    const { content: [{ uri }] } = await tools.docs.links({});
    const other = await tools.docs.read_resource({ uri: "doc:c" }).catch((error) => error.message);
    return [before, uri, await tools.docs.read_resource({ uri }), other];
  `,
  );
  expect(value).toEqual([
    "handler_failed",
    "doc:a",
    "text of doc:a",
    expect.stringContaining('a result of docs has named here, and none has named "doc:c"'),
  ]);
  expect(asked).toEqual(["doc:a"]);
});

test("what a resource's own contents name is read too, and an embedded resource", async () => {
  const { tools } = await sourceWith({
    results: { embed: [{ type: "resource", resource: { uri: "doc:index", text: "…" } }] },
    read: (uri) => ({
      contents: uri === "doc:index" ? [LINK("doc:index/1"), LINK("doc:index/2")].map(asText) : [asText({ uri })],
    }),
  });
  const value = await valueOf(
    tools,
    `
    await tools.docs.embed({});
    const { contents } = await tools.docs.read_resource({ uri: "doc:index" });
    return [contents, await tools.docs.read_resource({ uri: contents[1].uri })];
  `,
  );
  expect(value).toEqual([
    [
      { uri: "doc:index/1", text: "text" },
      { uri: "doc:index/2", text: "text" },
    ],
    "text",
  ]);
});

const asText = ({ uri }: { readonly uri: string }) => ({ uri, text: "text", _meta: { any: 1 } });

test("a model gets bytes as a file with where they come from, and a program as base64", async () => {
  const blob = Buffer.from("bytes").toString("base64");
  const { tools } = await sourceWith({ read: (uri) => ({ contents: [{ uri, mimeType: "image/gif", blob }] }) });
  await using runtime = await createRuntime({ tools, sandbox });
  const told: unknown[] = [];
  await runtime.agent({
    task: "Read it.",
    model: scriptedModel([
      { calls: [{ id: "links", tool: "docs.links" }] },
      { calls: [{ id: "read", tool: "docs.read_resource", input: { uri: "doc:a" } }] },
      ({ results }) => (told.push(...results), { text: "Done." }),
    ]),
  });
  expect(told).toMatchObject([
    {
      parts: [{ type: "image", mediaType: "image/gif", data: blob }],
      provenance: { tool: "docs.read_resource", source: "docs", from: "doc:a" },
    },
  ]);
  expect(told).not.toMatchObject([{ text: expect.stringContaining(blob) }]);
  const report = await run(
    tools,
    `await tools.docs.links({}); return await tools.docs.read_resource({ uri: "doc:a" })`,
  );
  expect(report.outcome).toMatchObject({ value: { contents: [{ uri: "doc:a", mimeType: "image/gif", blob }] } });
});

// ---- real servers --------------------------------------------------------------------------------------------------

test.each(["2025-11-25", "2026-07-28"] as const)("a server of the package, protocol %s", async (protocol) => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "modern", version: "1" });
    const list = { type: "resource_link", uri: "note://one", name: "one" } as const;
    server.registerTool("notes", { description: "Notes" }, () => ({ content: [list] }));
    server.registerResource("note", new ResourceTemplate("note://{name}", { list: undefined }), {}, (uri) => ({
      contents: [{ uri: uri.href, text: `read ${uri.href}` }],
    }));
    return server;
  });
  await using server = await serveFetch((request) => handler.fetch(request));
  await using source = await fromMcp({ name: "docs", url: server.url, protocol, resources: true }, READ);
  const value = await valueOf(
    source.tools,
    `const { content: [{ uri }] } = await tools.docs.notes({}); return [uri, await tools.docs.read_resource({ uri })]`,
  );
  expect(value).toEqual(["note://one", expect.stringMatching(/^read note:/)]);
  const modern = server.headers.filter((headers) => headers["mcp-method"] === "resources/read");
  expect(modern.length).toBe(protocol === "2026-07-28" ? 1 : 0);
  await handler.close();
});

// ---- whose results, and until when -----------------------------------------------------------------------------------

test("what another server, another tool or another execution has named is not read", async () => {
  await using one = await serveResources({ results: { links: [LINK("doc:one")] } });
  await using two = await serveResources({ results: { links: [LINK("doc:two")] } });
  await using a = await sourceOf(one, "a");
  await using b = await sourceOf(two, "b");
  const forge = makeTool({ name: "forge", ...BOTH, execute: () => ({ content: [LINK("doc:forged")] }) });
  const tools = [...a.tools, ...b.tools, forge];
  const read = (uri: string) => tried(`b.read_resource({ uri: "${uri}" })`).replace("try", "await 0; try");
  await using runtime = await createRuntime({ tools, sandbox });
  await runtime.execute("await tools.b.links({})");
  for (const uri of ["doc:one", "doc:forged", "doc:two"]) {
    const names = uri === "doc:two" ? "" : "await tools.a.links({}); await tools.forge({});";
    const { outcome } = await runtime.execute(`${names} ${read(uri)}`);
    expect(outcome, uri).toMatchObject({ value: expect.stringContaining("handler_failed") });
  }
  expect([...one.asked, ...two.asked]).toEqual([]);
});

describe("restored from the journal", () => {
  const held = makeTool({ ...BOTH, name: "hold", approval: "always", execute: () => "held" });

  /** A runtime with a connection of its own, as another process has it. */
  async function inOther<Value>(
    url: string,
    journal: Journal,
    use: (runtime: Awaited<ReturnType<typeof createRuntime>>) => Promise<Value>,
  ): Promise<Value> {
    await using source = await fromMcp({ name: "docs", url, protocol: "2025-11-25", resources: true }, BOTH);
    await using runtime = await createRuntime({
      tools: [...source.tools, held],
      journal,
      sandbox,
      approve: () => "later",
      leaseMs: 100,
    });
    return await use(runtime);
  }

  test("a program that waits reads in another process what was named before", async () => {
    await using server = await serveResources();
    const journal = createMemoryJournal();
    const program = `
      await tools.docs.links({});
      await tools.hold({});
      const other = await tools.docs.read_resource({ uri: "doc:c" }).catch((error) => error.code);
      return [other, await tools.docs.read_resource({ uri: "doc:b" })];
    `;
    await inOther(server.url, journal, (runtime) => runtime.execute(program, { id: "one" }));
    const report = await inOther(server.url, journal, async (runtime) => {
      await runtime.execution("one").decide({ "2": { allow: true } });
      return runtime.execution("one").resume();
    });
    expect(report.outcome).toMatchObject({ value: ["handler_failed", "text of doc:b"] });
  });

  test("a corrected program that is given the earlier result reads what it named", async () => {
    await using server = await serveResources();
    const journal = createMemoryJournal();
    await inOther(server.url, journal, (runtime) =>
      runtime.execute("await tools.docs.links({}); throw new Error('no')", { id: "first" }),
    );
    const report = await inOther(server.url, journal, (runtime) =>
      runtime.execute(`await tools.docs.links({}); return await tools.docs.read_resource({ uri: "doc:a" })`, {
        corrects: "first",
      }),
    );
    expect(report.outcome).toMatchObject({ value: "text of doc:a" });
    expect(report.usage).toMatchObject({ reused: 1 });
  });

  test("a conversation reads, in another process, what its calls and its programs have named", async () => {
    await using server = await serveResources();
    const journal = createMemoryJournal();
    const read = (uri: string) => ({ id: `read ${uri}`, tool: "docs.read_resource", input: { uri } });
    const texts: string[] = [];
    const note = ({ results }: { readonly results: readonly { readonly text: string }[] }) =>
      texts.push(...results.map(({ text }) => text));
    const model = () =>
      scriptedModel([
        { programs: ["return (await tools.docs.links({})).content.length"] },
        { calls: [{ id: "hold", tool: "hold" }] },
        { calls: [read("doc:a"), read("doc:c")] },
        (before) => (note(before), { programs: [`return await tools.docs.read_resource({ uri: "doc:b" })`] }),
        (before) => (note(before), { text: "Done." }),
      ]);
    const begun = await inOther(server.url, journal, (runtime) =>
      runtime.agent({ task: "Read them.", model: model() }),
    );
    expect(begun.ending).toMatchObject({ type: "waiting" });
    await inOther(server.url, journal, async (runtime) => {
      await runtime.execution(begun.execution).decide({ hold: { allow: true } });
      return runtime.execution(begun.execution).resume({ model: model() });
    });
    expect(texts[0]).toContain("text of doc:a");
    expect(texts[1]).toContain('none has named "doc:c"');
    expect(texts[2]).toContain("text of doc:b");
  });
});

test("an agent that is a tool reads what results of its caller have named", async () => {
  const { tools } = await sourceWith();
  const agent = agentAsTool({
    name: "reader",
    description: "Reads",
    allowedCallers: ["programmatic"],
    model: scriptedModel([
      { programs: [`return await tools.docs.read_resource({ uri: "doc:a" })`] },
      ({ results }) => ({ text: results.map(({ text }) => text).join() }),
    ]),
    tools,
  });
  const value = await valueOf(
    [...tools, agent],
    `await tools.docs.links({}); return (await tools.reader({ task: "Read doc:a" }))`,
  );
  expect(JSON.stringify(value)).toContain("text of doc:a");
});

// ---- hostile servers and programs ------------------------------------------------------------------------------------

test.each([
  ["no URI", "{}", "input_invalid"],
  ["a URI of 3,000 characters that a result names", '{ uri: "doc:" + "x".repeat(3000) }', "input_invalid"],
  ["a URI of 1,500 characters and 3,000 bytes that a result names", '{ uri: "é".repeat(1500) }', "handler_failed"],
  ["a name of objects", '{ uri: "__proto__" }', "handler_failed"],
  ["the digest's own text", '{ uri: "docs\\ndoc:a" }', "handler_failed"],
  ["a path out of a named one", '{ uri: "doc:a/../../etc/passwd" }', "handler_failed"],
])("%s is refused, and the server is not asked", async (_what, input, code) => {
  const links = ["doc:a", `doc:${"x".repeat(3000)}`, "é".repeat(1500)].map(LINK);
  await using server = await serveResources({ results: { links } });
  await using source = await sourceOf(server);
  const value = await valueOf(source.tools, `await tools.docs.links({}); ${tried(`docs.read_resource(${input})`)}`);
  expect(value).toMatch(new RegExp(`^${code}: `));
  expect(server.asked).toEqual([]);
});

testOfAll("of a result that names 100,000 resources the first 500 count, and the refusal says so", async () => {
  const links = Array.from({ length: 100_000 }, (_, index) => LINK(`doc:${index}`));
  const { tools } = await sourceWith({ results: { links } });
  const read = (uri: string) => `await tools.docs.read_resource({ uri: "${uri}" }).catch((error) => error.message)`;
  const { outcome, calls } = await run(
    tools,
    `await tools.docs.links({}); return [${read("doc:499")}, ${read("doc:500")}]`,
  );
  expect(outcome).toMatchObject({ value: ["text of doc:499", expect.stringContaining("the first 500 count")] });
  expect(calls[0]?.named).toHaveLength(500);
});

const BIG = "A".repeat(3 * 1024 * 1024);

test.each<readonly [string, (uri: string) => object, string]>([
  ["contents that are no list", () => ({ contents: "no" }), "source_unavailable: .* protocol"],
  ["a text that is a number", (uri) => ({ contents: [{ uri, text: 1 }] }), "source_unavailable: .* protocol"],
  ["neither text nor bytes", (uri) => ({ contents: [{ uri }] }), "source_unavailable: .* protocol"],
  [
    "the code of the new version for a resource that is not there",
    () => ({ failure: { code: -32602, message: "Invalid params" } }),
    'handler_failed: docs.read_resource: the server has not found "doc:a"',
  ],
  ["the old code for it", () => ({ failure: { code: -32002, message: "no" } }), "handler_failed: .* not found"],
  ["another error", () => ({ failure: { code: -32603, message: "no" } }), "source_unavailable: .* refused the request"],
  ["bytes that are too large", (uri) => ({ contents: [{ uri, blob: BIG }] }), "result_too_large: "],
  ["a text that is too large", (uri) => ({ contents: [{ uri, text: BIG }] }), "result_too_large: "],
])("a server that gives %s fails its call in words", async (_what, read, expected) => {
  const { tools } = await sourceWith({ read });
  const { outcome } = await run(tools, `await tools.docs.links({}); ${tried('docs.read_resource({ uri: "doc:a" })')}`, {
    limits: { resultBytes: 1024 * 1024 },
  });
  expect(outcome).toMatchObject({ value: expect.stringMatching(new RegExp(`^${expected}`, "s")) });
});

test("results that name what is no text name nothing", async () => {
  const odd = [{ type: "resource_link", uri: 1 }, { type: "resource", resource: null }, { type: "resource_link" }];
  const { tools } = await sourceWith({ results: { links: odd } });
  const { outcome, calls } = await run(tools, "return (await tools.docs.links({})).content.length");
  expect(outcome).toMatchObject({ value: 3 });
  expect(calls[0]).not.toHaveProperty("named");
});

test("a server without resources has no such tool, and the source says so", async () => {
  const { tools, problems } = await sourceWith({ capabilities: { tools: {} } });
  expect(tools.map(({ name }) => name)).toEqual(["docs.links"]);
  expect(problems).toEqual([expect.stringContaining("no resources")]);
});

test("a tool of the server that has the name stays, and the source says what is left out", async () => {
  const { tools, problems } = await sourceWith({ results: { read_resource: [{ type: "text", text: "its own" }] } });
  expect(await call(tools, "docs.read_resource({})")).toBe("its own");
  expect(problems).toEqual([expect.stringContaining("read_resource")]);
});

test("with redaction a URI with a secret is not named, no digest of it is journalled, and texts are redacted", async () => {
  const SECRET = "sk-secret-0123456789";
  const { tools } = await sourceWith({
    results: { links: [LINK("doc:a"), LINK(`doc:${SECRET}`)] },
    read: (uri) => ({ contents: [{ uri, text: `the key is ${SECRET}` }] }),
  });
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({
    tools,
    sandbox,
    journal,
    logger: { error() {} },
    redact: ({ text }) =>
      [...text.matchAll(new RegExp(SECRET, "g"))].map(({ index }) => ({
        start: index,
        end: index + SECRET.length,
        what: "key",
      })),
  });
  const report = await runtime.execute(
    `
    const { content } = await tools.docs.links({});
    const kept = await tools.docs.read_resource({ uri: content[1].uri }).catch((error) => error.code);
    return [kept, (await tools.docs.read_resource({ uri: "doc:a" })).length];
  `,
    { id: "one" },
  );
  expect(report.outcome).toMatchObject({ value: ["handler_failed", `the key is ${SECRET}`.length] });
  expect(report.calls[0]?.named).toHaveLength(1);
  const records = JSON.stringify(await Array.fromAsync(journal.read("one")));
  expect(records).not.toContain(SECRET);
});
