import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fromMcpConfig, jsonSchema } from "../../../../src/index.ts";
import { FILE_SERVER_RULES } from "../../../../src/sources/mcp/config/mcp-config.ts";
import { expandVariables } from "../../../../src/sources/mcp/config/expand-variables.ts";
import { WRITTEN_RULES } from "../../../../src/sources/file-policies.ts";
import { validate } from "../../../../src/tools/schema.ts";
import { servedRaw } from "../served-raw.ts";
import { testOfAll } from "../../../support/all-tests.ts";
import { call, isRunning, rawServer, READ } from "../servers.ts";
import { failing } from "../../../support/failing.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-mcp-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function configFile(config: unknown): string {
  files += 1;
  const file = join(folder, `config-${files}.json`);
  writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config));
  return file;
}

/** The server of `rawServer` as a file has it. */
function entry(mode = "plain", more: object = {}, mark?: string): object {
  const { command, args } = rawServer(mode, mark);
  return { command, args, ...more };
}

/** The server of `servedRaw`, with what a file says of it. */
const served = async (portcullis: unknown) => {
  const { url } = await servedRaw("plain");
  return configFile({ mcpServers: { raw: { url, portcullis } } });
};

const POLICY = { allowedCallers: ["programmatic"], effect: "read" };

/** All that a policy may say of how a tool is shown, found and repeated. */
const WHOLE = {
  ...POLICY,
  retry: { attempts: 2, delayMs: 0 },
  rate: { calls: 5, perMs: 1000 },
  onUnknown: "fail",
  tags: ["repeat"],
  instructions: "Call it once.",
  pinned: true,
  defer: false,
};

test("a file says how tools of a server are shown, found, repeated and bounded", async () => {
  const portcullis = { tools: { echo: WHOLE, other: { ...POLICY, defer: true } } };
  await using servers = await fromMcpConfig(await served(portcullis));
  const [echo, other] = servers.tools;
  const { allowedCallers: _, ...said } = WHOLE;
  expect(echo).toMatchObject({ name: "raw.echo", ...said });
  expect(other).toMatchObject({ name: "raw.other", defer: true, onUnknown: "ask" });
});

test("a tool that changes something each time is left out if the file repeats it", async () => {
  const portcullis = { tools: { echo: { ...WHOLE, effect: "write" } } };
  await using servers = await fromMcpConfig(await served(portcullis));
  expect(servers.tools).toEqual([]);
  expect(servers.problems.join()).toContain('"raw.echo", retry }): calls with the effect "write" are never repeated');
});

describe("the formats of clients", () => {
  test.each([
    ["Claude Code, Claude Desktop, Cursor", (raw) => ({ mcpServers: { raw: { ...raw, portcullis: POLICY } } })],
    ["beside the servers", (raw) => ({ mcpServers: { raw }, portcullis: { raw: POLICY } })],
    ["VS Code", () => ({ inputs: [], servers: { raw: entry("plain", { type: "stdio", portcullis: POLICY }) } })],
  ] satisfies [string, (raw: object) => object][])("%s", async (_client, configOf) => {
    const { url } = await servedRaw("plain");
    await using servers = await fromMcpConfig(configFile(configOf({ url })));
    expect(servers.tools.map(({ name }) => name)).toEqual(["raw.echo", "raw.die", "raw.other"]);
    expect(await call(servers.tools, 'raw.echo({ text: "hi" })')).toBe("hi");
  });

  test("comments and commas at the end are allowed", async () => {
    const { url } = await servedRaw("plain");
    const server = JSON.stringify({ url, portcullis: POLICY });
    await using servers = await fromMcpConfig(configFile(`{ // servers\n"mcpServers": { "my-server": ${server}, }, }`));
    expect(servers.tools[0]?.name).toBe("my_server.echo");
  });

  testOfAll("Windsurf names addresses by serverUrl, and a server that is not there ends the others", async () => {
    const mark = join(folder, "mark-windsurf");
    const file = configFile({
      mcpServers: { raw: entry("stays", {}, mark), far: { serverUrl: "http://127.0.0.1:1/mcp" } },
    });
    await expect(fromMcpConfig(file)).rejects.toMatchObject(
      failing("source_unavailable", 'MCP server "far": it cannot be reached'),
    );
    expect(isRunning(mark)).toBe(false);
  });

  test("our own entry, and servers that are disabled, are skipped", async () => {
    await using servers = await fromMcpConfig(
      configFile({
        mcpServers: {
          portcullis: { command: "npx", args: ["-y", "portcullis@1.0.0", "mcp", "--mcp", ".mcp.json"] },
          bin: { command: "/usr/local/bin/portcullis", args: ["mcp"] },
          dist: { command: "node", args: ["./node_modules/portcullis/dist/src/cli.js", "mcp"] },
          windows: { command: String.raw`C:\Users\me\node_modules\.bin\portcullis.cmd`, args: ["mcp"] },
          off: { command: "no-such-command", disabled: true },
        },
      }),
    );
    expect(servers.sources).toEqual([]);
  });

  test("a server that only speaks of ours is not", async () => {
    const file = configFile({
      mcpServers: { notes: { command: "no-such-command", args: ["--title", "portcullis mcp notes"] } },
    });
    await expect(fromMcpConfig(file)).rejects.toMatchObject({ code: "source_unavailable" });
  });

  testOfAll.each([undefined, ""])("a server is started in the folder of its project: %j", async (cwd) => {
    const project = join(folder, "project");
    mkdirSync(join(project, ".vscode"), { recursive: true });
    const file = join(project, ".vscode", "mcp.json");
    writeFileSync(
      file,
      JSON.stringify({
        servers: {
          raw: {
            command: process.execPath,
            args: ["-e", "console.error(process.cwd(), process.argv[1])", "${workspaceFolder}"],
            cwd,
          },
        },
      }),
    );
    await expect(fromMcpConfig(file)).rejects.toThrow(
      new RegExp(`It wrote: .*${basename(project)} .*${basename(project)}`),
    );
  });
});

describe("who may call", () => {
  test("tools that nothing is said about are of no caller, and are listed", async () => {
    await using config = await fromMcpConfig(await served(undefined));
    expect(config.tools).toEqual([]);
    expect(config.unassigned.map(({ name }) => name)).toEqual(["raw.echo", "raw.die", "raw.other"]);
  });

  test("a policy of a tool changes that of its server, and false leaves it to no caller", async () => {
    await using config = await fromMcpConfig(
      await served({ ...POLICY, tools: { echo: { effect: "write", approval: "always" }, die: false } }),
    );
    expect(config.tools).toMatchObject([
      { name: "raw.echo", effect: "write", approvable: true, allowedCallers: ["programmatic"] },
      { name: "raw.other", effect: "read", approvable: false },
    ]);
    expect(config.unassigned).toEqual([]);
    expect(config.sources.flatMap(({ names }) => names)).toContain("raw.die");
  });

  test("the second argument is asked where the file says nothing", async () => {
    const asked: string[] = [];
    await using config = await fromMcpConfig(await served({ tools: { echo: POLICY, die: false } }), (name) => {
      asked.push(name);
      return { ...READ, effect: "idempotent" };
    });
    expect(asked).toEqual(["raw.other"]);
    expect(config.tools.map(({ name, effect }) => [name, effect])).toEqual([
      ["raw.echo", "read"],
      ["raw.other", "idempotent"],
    ]);
  });

  test.each([
    [{ allowedCallers: ["programmatic"] }, 'portcullis.effect: expected "read", "idempotent" or "write"'],
    [{ ...POLICY, effect: "reed" }, "portcullis.effect: expected"],
    [{ ...POLICY, allowedCaller: [] }, "did you mean allowedCallers?"],
    [{ ...POLICY, tools: { echoo: { effect: "write" } } }, 'the server has no tool "echoo", did you mean "echo"?'],
    [{ tools: { echo: true } }, "expected a policy, or false"],
    [7, "an object"],
  ])("a policy that is invalid is refused with a sentence: %j", async (portcullis, message) => {
    await expect(fromMcpConfig(await served(portcullis))).rejects.toMatchObject(failing("option_invalid", message));
  });
});

describe("variables", () => {
  test("are put in commands, arguments and variables", async () => {
    vi.stubEnv("MCP_TEST_NODE", process.execPath);
    const { args = [] } = rawServer("environment");
    const server = {
      command: "${MCP_TEST_NODE}",
      args,
      env: { "X_${MCP_TEST_NODE:-y}": "1", Y: "${MCP_TEST_UNSET:-${}" },
      portcullis: POLICY,
    };
    await using config = await fromMcpConfig(
      configFile({ mcpServers: { raw: { ...server, env: { Y: "a ${MCP_TEST_UNSET:-b}" } } } }),
    );
    expect(await call(config.tools, "raw.echo({})")).toContain("Y");
    vi.unstubAllEnvs();
  });

  const variables = { env: { SET: "value", EMPTY: "", DOLLAR: "${SET}" }, folder: "/project" };

  test.each([
    ["${SET}", "value"],
    ["a ${SET} b ${env:SET}", "a value b value"],
    ["${EMPTY:-default}", "default"],
    ["${workspaceFolder}/x", "/project/x"],
    ["${DOLLAR}", "${SET}"],
  ])("%s is %s", (text, value) => {
    expect(expandVariables(text, variables)).toBe(value);
  });

  test.each([
    ["${UNSET}", "the variable UNSET is not set"],
    ["${constructor}", "the variable constructor is not set"],
    ["${input:token}", "asks for a value in an editor"],
    ["${a b}", "is not known here"],
    ["${SET:-${SET}}", "variables are not nested"],
    ["a ${SET", "has no end"],
    [`\${SET:-${"x".repeat(300)}}`, "more than 256 characters"],
  ])("%s is refused", (text, message) => {
    expect(() => expandVariables(text, variables)).toThrow(message);
  });

  test("one that is not set is refused by its name and its server's", async () => {
    const file = configFile({ mcpServers: { raw: entry("plain", { env: { TOKEN: "${MCP_TEST_UNSET}" } }) } });
    await expect(fromMcpConfig(file)).rejects.toMatchObject(
      failing("option_invalid", `${file}: server "raw": env.TOKEN: the variable MCP_TEST_UNSET `),
    );
  });
});

describe("a file that is invalid is one sentence", () => {
  const invalid = [
    ['{ "mcpServers": {', "it is not JSON: CloseBraceExpected in line 1"],
    ["[]", 'expected an object "mcpServers"'],
    [
      '{ "mcpServers": { "a": { "command": "x" }, "a": { "command": "y" } } }',
      'the key "a" is given twice, again in line 1',
    ],
    ['{ "mcpServers": { "a": { "__proto__": { "command": "x" } } } }', "expected either command or url"],
    [`{ "mcpServers": ${"[".repeat(500_000)}`, "nested more than 50 levels deep"],
    [
      JSON.stringify({ mcpServers: Object.fromEntries(Array.from({ length: 101 }, (_, a) => [a, { command: "x" }])) }),
      "it has 101 servers, at most 100 are connected to",
    ],
    ['{ "mcpServers": { "a": { "url": "http://x", "headers": { "a b": "c" } } } }', "expected headers: names"],
    ['{ "mcpServers": { "a": { "command": "x", "env": { "A=B": "c" } } } }', "expected variables: names without ="],
    ['{ "mcpServers": { "a-b": { "command": "x" }, "a_b": { "command": "y" } } }', "another server is named a_b"],
    ['{ "mcpServers": { "a": 7 } }', 'server "a": it is a number, not an object'],
    ['{ "mcpServers": { "a": { "command": 7 } } }', 'server "a".command: expected the command that'],
    ['{ "mcpServers": { "a": { "command": "x", "envFile": ".env" } } }', "envFile is not read"],
    ['{ "mcpServers": { "a": { "type": "sse", "url": "http://x" } } }', 'the transport "sse" is not supported'],
    ['{ "mcpServers": {}, "portcullis": { "a": {} } }', 'portcullis speaks of "a", and there is no such server'],
    [
      '{ "mcpServers": { "__proto__": { "command": "no-such-command-here" } } }',
      'the command "no-such-command-here" is',
    ],
    [`{ "mcpServers": { "a": "${"x".repeat(1_100_000)}" } }`, "at most 1048576 are read"],
  ] as const;
  test.each(invalid.map(([text, message]) => ({ message, text })))("$message", async ({ text, message }) => {
    await expect(fromMcpConfig(configFile(text))).rejects.toMatchObject({ message: expect.stringContaining(message) });
  });

  test("one that does not exist", async () => {
    await expect(fromMcpConfig("/no/such/.mcp.json")).rejects.toMatchObject({
      code: "option_invalid",
      message: "/no/such/.mcp.json: there is no such file.",
    });
  });
});

/** Blocks of JSON in the documentation. */
const documented = [
  ...readFileSync(new URL("../../../../docs/sources.md", import.meta.url), "utf8").matchAll(/^```json\n([^]*?)^```$/gm),
].flatMap(([, text = ""]) => (text.includes('"mcpServers"') ? [JSON.parse(text) as unknown] : []));

describe("the JSON Schema of the key portcullis", () => {
  const published = JSON.parse(
    readFileSync(new URL("../../../../docs/mcp-config.schema.json", import.meta.url), "utf8"),
  ) as { readonly $defs: Readonly<Record<"server" | "tool", { readonly properties: object }>> };

  test("has the options that the code reads", () => {
    expect(Object.keys(published.$defs.server.properties)).toEqual(Object.keys(FILE_SERVER_RULES));
    expect(Object.keys(published.$defs.tool.properties)).toEqual(Object.keys(WRITTEN_RULES));
  });

  const { $schema: _, ...own } = published as object as Record<string, unknown>;
  const schema = jsonSchema(own);
  test("the documentation shows a file that fits", () => {
    expect(documented.length).toBeGreaterThan(0);
  });
  test.each<readonly [object, boolean]>([
    ...documented.map((config) => [config as object, true] as const),
    [{ mcpServers: { a: { command: "x", portcullis: POLICY } } }, true],
    [{ mcpServers: { a: {} }, portcullis: { a: { ...POLICY, tools: { b: false, c: { effect: "write" } } } } }, true],
    [{ servers: { a: { url: "http://x", portcullis: { tools: { b: POLICY } } } } }, true],
    [{ mcpServers: { a: { portcullis: { ...WHOLE, tools: { b: WHOLE } } } } }, true],
    [{ mcpServers: { a: { portcullis: { ...WHOLE, retry: {} } } } }, false],
    [{ mcpServers: { a: { portcullis: { ...WHOLE, tags: [" "] } } } }, false],
    [{ mcpServers: { a: { portcullis: { tools: { b: { ...WHOLE, onUnknown: "repeat" } } } } } }, false],
    [{ mcpServers: { a: { portcullis: { ...POLICY, effect: "reed" } } } }, false],
    [{ mcpServers: { a: { portcullis: { ...POLICY, tools: { b: true } } } } }, false],
    [{ portcullis: { a: { allowedCaller: [] } } }, false],
  ])("%j", async (config, ok) => {
    expect((await validate(schema, config)).ok).toBe(ok);
  });
});
