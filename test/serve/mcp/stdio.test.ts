import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixtures, portcullis } from "../../cli/command.ts";
import { isRunning, rawServer, serverFile } from "../../sources/mcp/servers.ts";
import { slowness } from "../../support/slowness.ts";
import { cli, doorArgs, tools } from "./doors.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-door-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const initialize = {
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const run = (code: string) => ({ method: "tools/call", params: { name: "run_program", arguments: { code } } });

/** A door on the standard streams, spoken to in lines. */
function open(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
  child.stdin.on("error", () => {});
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const stderr = text(child.stderr);
  let stdout = "";
  const waiting: (() => void)[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += String(chunk);
    for (const wake of waiting.splice(0)) wake();
  });
  let id = 0;
  const answerOf = async (wanted: number) => {
    for (;;) {
      const lines = stdout.split("\n").slice(0, -1);
      const found = lines.map((line) => JSON.parse(line) as { id?: number }).find((message) => message.id === wanted);
      if (found) return found as { readonly result?: Record<string, unknown>; readonly error?: { message: string } };
      await Promise.race([new Promise<void>((resolve) => waiting.push(resolve)), ended]);
      if (child.exitCode !== null) throw new Error(`The door has ended: ${await stderr}`);
    }
  };
  const write = (message: string) => child.stdin.write(`${message}\n`);
  const send = (message: object) => {
    id += 1;
    write(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
    return answerOf(id);
  };
  return { child, ended, send, write, stdout: () => stdout, stderr };
}

/** What is left of closing in time, in milliseconds; a loaded machine may start it late. */
const CLOSED_WITHIN_MS = 2000;

async function secondsToEnd(door: ReturnType<typeof open>, end: () => void): Promise<number> {
  const since = performance.now();
  end();
  await door.ended;
  return performance.now() - since;
}

describe("standard output", () => {
  test("is messages to the byte, whatever modules, handlers and servers print", async () => {
    const config = join(folder, "noisy.json");
    const { command, args } = rawServer("plain");
    const portcullis = { allowedCallers: ["programmatic"], effect: "read" };
    writeFileSync(config, JSON.stringify({ mcpServers: { raw: { command, args, portcullis } } }));
    const door = open(doorArgs("--mcp", config));
    await door.send(initialize);
    const { result } = await door.send(
      run(
        'console.log("a program that prints"); await tools.raw.echo({ text: "x" }); return tools.shop.list({ n: 2 })',
      ),
    );
    expect(JSON.stringify(result)).toContain("article 1");
    door.child.stdin.end();
    const [code] = await door.ended;
    const stdout = door.stdout();
    expect(code).toBe(0);
    expect(stdout.endsWith("\n")).toBe(true);
    for (const line of stdout.slice(0, -1).split("\n")) expect(JSON.stringify(JSON.parse(line))).toBe(line);
    const stderr = await door.stderr;
    for (const noise of ["a module that prints", "a handler that prints", "and writes"])
      expect(stderr).toContain(noise);
  });

  test("a line that is no message, or far too long, is answered or skipped, and the next one is served", async () => {
    const door = open(doorArgs());
    await door.send(initialize);
    for (const line of ["", "garbage", "[]", "7", "null", '{"jsonrpc":"2.0"}', "[".repeat(100_000)]) door.write(line);
    const large = await door.send({ method: "tools/call", params: { name: "x".repeat(5 * 1024 * 1024) } });
    expect(large.error?.message).toBe("A message may have at most 4194304 bytes.");
    expect((await door.send({ method: "ping" })).result).toEqual({});
    door.child.stdin.end();
    expect((await door.ended)[0]).toBe(0);
  });
});

describe("a door that cannot be", () => {
  test("without the package of the protocol says what to install, and ends with exit code 5", async () => {
    const without = fileURLToPath(new URL("fixtures/without-server.ts", import.meta.url));
    const door = open(["--import", without, ...doorArgs()]);
    expect((await door.ended)[0]).toBe(5);
    expect(door.stdout()).toBe("");
    expect(await door.stderr).toMatch(
      /^portcullis: The MCP door needs the package @modelcontextprotocol\/server: npm install @modelcontextprotocol\/server .*\n$/,
    );
  });

  test("in a door in a door says which entry to look for", async () => {
    const config = join(folder, "itself.json");
    const args = ["--conditions=portcullis-source", cli, "mcp", "--mcp", config];
    // Behind a script of its own the entry is not known as the door's, which would be left out.
    const script = join(folder, "itself.mjs");
    writeFileSync(
      script,
      `process.argv.push("mcp", "--mcp", ${JSON.stringify(config)}); await import(${JSON.stringify(cli)});`,
    );
    const self = { command: process.execPath, args: ["--conditions=portcullis-source", script] };
    writeFileSync(config, JSON.stringify({ mcpServers: { self } }));
    // It stands in one door already: each further one has to start within the time in which a server lists its tools.
    const door = open(args, { PORTCULLIS_DOORS: "1" });
    expect((await door.ended)[0]).toBe(5);
    expect(await door.stderr).toContain("an entry that starts the door itself");
  }, 60_000);
});

describe("keys", () => {
  const keyed = async (keys: unknown, mode = 0o600) => {
    const file = join(folder, "keys.json");
    writeFileSync(file, JSON.stringify({ keys }));
    chmodSync(file, mode);
    const door = open(doorArgs("--http", "0", "--keys", file));
    door.child.stdin.end();
    return door;
  };
  const secret = "the secret of a key";

  test.each([
    ["too short", { key: "secret" }],
    ["with spaces", { key: secret }],
    ["given as its hash", { hash: secret }],
    ["in place of an entry", secret],
  ])("%s are refused, and the error does not show them", async (_, entry) => {
    const door = await keyed([typeof entry === "string" ? entry : { id: "ann", tenant: "acme", ...entry }]);
    expect((await door.ended)[0]).toBe(2);
    const said = await door.stderr;
    expect(said).toContain("keys[0]");
    expect(said).not.toContain("secret");
  });

  test.each(["stdio", "token"])("the id %s is reserved", async (id) => {
    const door = await keyed([{ id, tenant: "acme", key: "0123456789abcdef" }]);
    expect((await door.ended)[0]).toBe(2);
    expect(await door.stderr).toContain(`the id ${id} is reserved`);
  });

  test("that other users can read are reported", async () => {
    const door = await keyed([{ id: "ann", tenant: "acme", key: "0123456789abcdef", tools: ["no.such"] }], 0o644);
    await door.ended;
    expect(await door.stderr).toContain("other users can read the keys in");
  });
});

describe("the door ends within two seconds, with no process left", () => {
  const withServer = (name: string) => {
    const config = join(folder, `${name}.json`);
    const mark = join(folder, name);
    // A server that reads to the end of its input and stays.
    const { command, args } = rawServer("stays", mark);
    const policy = { allowedCallers: ["programmatic"], effect: "read" };
    writeFileSync(config, JSON.stringify({ mcpServers: { raw: { command, args, portcullis: policy } } }));
    return { config, mark };
  };

  test.each([
    ["the end of its standard input", (door: ReturnType<typeof open>) => door.child.stdin.end(), 0],
    ["SIGTERM", (door: ReturnType<typeof open>) => door.child.kill("SIGTERM"), 143],
    ["SIGINT", (door: ReturnType<typeof open>) => door.child.kill("SIGINT"), 130],
  ] as const)("by %s, while a program runs and a server stays", async (name, end, expected) => {
    const { config, mark } = withServer(name.replaceAll(" ", "-"));
    const door = open(doorArgs("--mcp", config));
    await door.send(initialize);
    void door.send(run("return tools.clock.hang({})")).catch(() => {});
    await door.send({ method: "ping" });
    expect(isRunning(mark)).toBe(true);
    const ms = await secondsToEnd(door, () => end(door));
    expect(ms).toBeLessThan(CLOSED_WITHIN_MS * slowness("clock"));
    expect((await door.ended)[0]).toBe(expected);
    await expect.poll(() => isRunning(mark)).toBe(false);
  });

  test("before its servers have answered", async () => {
    const config = join(folder, "mute.json");
    const mark = join(folder, "mute");
    const { command, args } = rawServer("silent-from-the-start", mark);
    writeFileSync(config, JSON.stringify({ mcpServers: { raw: { command, args } } }));
    const door = open(["--conditions=portcullis-source", cli, "mcp", "--mcp", config]);
    await expect.poll(() => isRunning(mark)).toBe(true);
    expect(await secondsToEnd(door, () => door.child.stdin.end())).toBeLessThan(CLOSED_WITHIN_MS * slowness("clock"));
    await expect.poll(() => isRunning(mark)).toBe(false);
  });

  test("although its client reads nothing", async () => {
    const child = spawn(process.execPath, doorArgs("--patience", "1"), { stdio: ["pipe", "pipe", "ignore"] });
    child.stdout.pause();
    const ended = once(child, "exit");
    const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    write({ id: 0, ...initialize });
    for (let id = 1; id < 200; id += 1)
      write({ id, method: "tools/call", params: { name: "shop_list", arguments: { n: 300 } } });
    await expect.poll(() => child.stdout.readableLength).toBeGreaterThan(0);
    const since = performance.now();
    child.stdin.end();
    child.kill("SIGTERM");
    await ended;
    expect(performance.now() - since).toBeLessThan(CLOSED_WITHIN_MS * slowness("clock"));
    child.stdout.destroy();
  });
});

describe("real servers behind the door", () => {
  test("a program joins files and memory through it", async () => {
    const config = join(folder, "real.json");
    const notes = join(folder, "notes");
    mkdirSync(notes);
    writeFileSync(join(notes, "a.txt"), "Mimas");
    const read = { allowedCallers: ["direct", "programmatic"], effect: "read" };
    const memory = { allowedCallers: ["programmatic"], effect: "write" };
    writeFileSync(
      config,
      JSON.stringify({
        mcpServers: {
          files: {
            command: process.execPath,
            args: [serverFile("server-filesystem"), notes],
            portcullis: { tools: { read_text_file: read, list_directory: read } },
          },
          memory: {
            command: process.execPath,
            args: [serverFile("server-memory")],
            env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
            portcullis: memory,
          },
          portcullis: { command: "npx", args: ["-y", "portcullis", "mcp", "--mcp", ".mcp.json"] },
        },
      }),
    );
    const door = open(["--conditions=portcullis-source", cli, "mcp", "--mcp", config]);
    await door.send(initialize);
    const { result: list } = await door.send({ method: "tools/list" });
    expect((list as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual([
      "run_program",
      "result",
      "files_read_text_file",
      "files_list_directory",
    ]);
    const path = join(notes, "a.txt");
    const code = `const { content } = await tools.files.read_text_file({ path: ${JSON.stringify(path)} });
      await tools.memory.create_entities({ entities: [{ name: content, entityType: "moon", observations: ["small"] }] });
      return (await tools.memory.search_nodes({ query: "Mimas" })).entities[0].entityType;`;
    expect((await door.send(run(code))).result).toEqual({ content: [{ type: "text", text: '"moon"' }] });
    const direct = await door.send({
      method: "tools/call",
      params: { name: "files_read_text_file", arguments: { path } },
    });
    expect(JSON.stringify(direct.result)).toContain("Mimas");
    door.child.stdin.end();
    expect((await door.ended)[0]).toBe(0);

    const { code: checked, stdout } = await portcullis(["mcp", "--mcp", config, "--check"]);
    expect(checked).toBe(0);
    expect(stdout).toMatch(/files +--mcp \S+ +2\n/);
    expect(stdout).toMatch(/files\.read_text_file +direct, programmatic +read +never +mcp files +\d+/);
    expect(stdout).toMatch(/Listed directly, these tools take [\d,]+ tokens; through Portcullis [\d,]+\./);
    expect(stdout).toContain('"write_file": { "allowedCallers": ["programmatic"], "effect": ');
    const { stdout: json } = await portcullis(["mcp", "--mcp", config, "--check", "--json"]);
    expect(JSON.parse(json)).toMatchObject({
      sources: [
        { name: "files", tools: 2 },
        { name: "memory", tools: 9 },
      ],
      served: [{ name: "run_program" }, { name: "result" }, {}, {}],
    });
  });
});

describe("a journal", () => {
  test("keeps a call that the client cannot be asked about, until a person decides and the result is collected", async () => {
    const journal = join(folder, "door.db");
    const door = open(doorArgs("--journal", journal));
    await door.send(initialize);
    const { result } = await door.send(run("return tools.bank.pay({ cents: 7 })"));
    const said = JSON.stringify(result).replaceAll(String.raw`\"`, '"');
    expect(said).toContain("The program waits for the approval of bank.pay (call 1).");
    const [, execution = ""] = /portcullis decide (mcp-\S+) 1 --allow --journal /.exec(said) ?? [];
    const collect = (from: ReturnType<typeof open>) =>
      from.send({ method: "tools/call", params: { name: "result", arguments: { execution } } });
    expect(JSON.stringify((await collect(door)).result)).toContain("waits for the approval");
    door.child.stdin.end();
    await door.ended;
    expect((await portcullis(["decide", execution, "1", "--allow", "--journal", journal])).code).toBe(0);

    const later = open(doorArgs("--journal", journal));
    await later.send(initialize);
    const collected = (await collect(later)).result;
    expect(collected).toEqual({ content: [{ type: "text", text: '"paid 7"' }] });
    expect((await collect(later)).result).toEqual(collected);
    const statement = await later.send({ method: "tools/call", params: { name: "bank_statement", arguments: {} } });
    expect(JSON.stringify(statement.result)).toContain(String.raw`{\"paid\":[7],\"stopped\":0}`);
    later.child.stdin.end();
    await later.ended;
  });
});

describe("bad input is one sentence", () => {
  const keys = (content: unknown) => {
    const path = join(folder, `keys-${Math.random()}.json`);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  const http = (...args: string[]) => ["--tools", tools, "--http", "0", ...args];
  const key = { id: "a", key: "0123456789abcdef", tenant: "t" };

  test.concurrent.each([
    ["no tools at all", 2, () => [], "expected --tools"],
    [
      "a server that is not there",
      5,
      () => ["--mcp", keys({ mcpServers: { x: { command: "/no/such" } } })],
      "is not found",
    ],
    [
      "a port that is none",
      2,
      () => ["--tools", tools, "--http", "99999"],
      "--http: expected a whole number from 0 to 65535",
    ],
    ["--keys without --http", 2, () => ["--tools", tools, "--keys", "k.json"], "--keys goes with --http"],
    ["an open address without keys", 2, () => http("--host", "0.0.0.0"), "can be reached by others: add --keys FILE"],
    ["no file of keys", 2, () => http("--keys", "/no/such"), "--keys: there is no file /no/such."],
    [
      "keys that are no JSON",
      2,
      () => http("--keys", keys("{")),
      'it is not JSON at line 1 column 2: expected { "keys"',
    ],
    ["no keys", 2, () => http("--keys", keys({ keys: [] })), "with at least one key"],
    [
      "a short key",
      2,
      () => http("--keys", keys({ keys: [{ ...key, key: "short" }] })),
      "expected a text of 16 to 1024 characters without spaces, got a string of 5 characters",
    ],
    [
      "a key twice",
      2,
      () => http("--keys", keys({ keys: [key, { ...key, id: "b" }] })),
      "is the same as one before it",
    ],
    [
      "an id twice",
      2,
      () => http("--keys", keys({ keys: [key, { ...key, key: "fedcba9876543210" }] })),
      'two keys have the id "a"',
    ],
    ["a misspelt field", 2, () => http("--keys", keys({ keys: [{ ...key, tool: [] }] })), "tools"],
    [
      "a tool that does not exist",
      2,
      () => http("--keys", keys({ keys: [{ ...key, tools: ["shop.lost"] }] })),
      "did you mean shop.list?",
    ],
    ["--approve later without a journal", 2, () => ["--tools", tools, "--approve", "later"], "add --journal FILE"],
  ])("%s", async (_, code, args, sentence) => {
    const finished = await portcullis(["mcp", ...args()]);
    expect([finished.code, finished.stdout]).toEqual([code, ""]);
    const lines = finished.stderr.split("\n").filter((line) => line.startsWith("portcullis: "));
    expect(lines.at(-1)).toContain(sentence);
  });

  test("a port that is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await portcullis(["mcp", "--tools", `${fixtures}tools.ts`, "--http", String(port)]);
    expect(code).toBe(5);
    expect(stderr).toContain(`The server cannot listen on 127.0.0.1, port ${port}`);
    taken.close();
  });
});
