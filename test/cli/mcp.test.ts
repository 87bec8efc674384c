import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HttpServer, serveByHand } from "../sources/mcp/http-servers.ts";
import { isRunning, rawServer } from "../sources/mcp/servers.ts";
import { newFolder } from "../support/new-folder.ts";
import { fixtures, portcullis } from "./command.ts";

const folder = newFolder();
/** A server over HTTP with the tools `echo` and `other`: none of its commands starts a process. */
let server: HttpServer;
beforeAll(async () => {
  server = await serveByHand(({ input, send }) => send({ content: [{ type: "text", text: input.text }] }));
});
afterAll(() => server[Symbol.asyncDispose]());

let files = 0;
function file(content: unknown, extension = "json"): string {
  files += 1;
  const path = join(folder, `file-${files}.${extension}`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const mark = () => join(folder, `mark-${files}`);

/** A file with one server over standard streams, which behaves in this way. */
function started(mode: string, more: object = {}): string {
  const { command, args } = rawServer(mode, mark());
  return file({ mcpServers: { raw: { command, args, ...more } } });
}

/** A file with the server over HTTP. */
const reached = (more: object = {}) => file({ mcpServers: { raw: { url: server.url, ...more } } });

const POLICY = { portcullis: { allowedCallers: ["programmatic"], effect: "read" } };
const PROGRAM = 'return await tools.raw.echo({ text: "hi" })';

describe("portcullis run --mcp", () => {
  test("runs a program with the tools of servers, says what is of no caller, and leaves nothing running", async () => {
    const before = mark();
    const path = started("stays", { portcullis: { tools: { echo: POLICY.portcullis } } });
    const { code, stdout, stderr } = await portcullis(["run", file(PROGRAM, "js"), "--mcp", path]);
    expect([code, stdout]).toEqual([0, '"hi"\n']);
    expect(stderr).toContain(`2 tools of servers are of no caller: portcullis tools --mcp ${path} --check lists them.`);
    expect(isRunning(before)).toBe(false);
  });

  test("--allow says who may call, and a module's tools stand beside those of servers", async () => {
    const program = file('return [await tools.raw.echo({ text: "hi" }), typeof tools.raw.other]', "js");
    const tools = `${fixtures}tools.ts`;
    const allowed = ["--mcp", reached(), "--allow", "raw.echo=read"];
    const { code, stdout } = await portcullis(["run", program, ...allowed, "--tools", tools]);
    expect([code, stdout]).toEqual([0, '["hi","undefined"]\n']);
  });

  test("--allow says which tools it takes for reads though their server calls them destructive", async () => {
    const listed = (allow: string) => portcullis(["tools", "--mcp", started("contradicts"), "--allow", allow]);
    expect((await listed("raw.*=read")).stderr).toBe(
      "--allow has programs call as reads, without approval, what its server calls destructive: raw.wipe. To ask for approval, add --allow raw.wipe=write.\n",
    );
    expect((await listed("raw.*=write")).stderr).toBe("");
  });
});

test("an execution that waits for the approval of a server's tool is resumed with --mcp", async () => {
  const servers = reached({ portcullis: { ...POLICY.portcullis, approval: "always" } });
  const journal = ["--journal", join(folder, "journal.db")];
  const waiting = await portcullis(["run", file(PROGRAM, "js"), "--mcp", servers, "--id", "e1", ...journal]);
  expect(waiting.code).toBe(6);
  expect((await portcullis(["decide", "e1", "1", "--allow", ...journal])).code).toBe(0);
  const { code, stdout } = await portcullis(["resume", "e1", "--mcp", servers, ...journal]);
  expect([code, stdout]).toEqual([0, '"hi"\n']);
});

describe("portcullis tools --mcp", () => {
  test("lists the tools of servers like others", async () => {
    const { code, stdout, stderr } = await portcullis(["tools", "--mcp", reached(POLICY), "--stubs"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("tools.raw.echo(input: { text?: string }): Promise<unknown>");
  });

  test("--check lists what is of no caller with the line to add, and what was left out", async () => {
    const { code, stdout } = await portcullis(["tools", "--mcp", started("instructions"), "--check"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^server +protocol +calls itself +version\n[-─ ]*\n?raw +2025-11-25 +raw +1\n/);
    expect(stdout).toContain("0 tools may be called.");
    expect(stdout).toMatch(
      /raw\.echo +reads +"echo": \{ "allowedCallers": \["programmatic"\], "effect": "read" \} +--allow raw\.echo=read/,
    );
    const wiping = await portcullis(["tools", "--mcp", started("contradicts"), "--check"]);
    expect(wiping.stdout).toMatch(
      /raw\.wipe +destroys +.* "effect": "write", "approval": "always" \} +--allow raw\.wipe=write/,
    );
    const malformed = await portcullis(["tools", "--mcp", started("malformed", POLICY), "--check"]);
    expect(malformed.stdout).toContain("3 tools may be called.");
    expect(malformed.stdout).toContain('raw: "no-object" is left out');
    const { stdout: json } = await portcullis(["tools", "--mcp", reached(), "--check", "--json"]);
    expect(JSON.parse(json)).toMatchObject({
      tools: [],
      problems: [],
      unassigned: [
        {
          name: "raw.echo",
          line: '"echo": { "allowedCallers": ["programmatic"], "effect": "write", "approval": "always" }',
          allow: "--allow raw.echo=write",
        },
        {},
      ],
    });
    const allowed = await portcullis(["tools", "--mcp", reached(), "--allow", "raw.echo=write"]);
    expect(allowed.stdout).toMatch(/^raw\.echo +programmatic +write +always /m);
  });
});

describe("bad input is one sentence, and nothing is left running", () => {
  test.each([
    [
      "a policy for a tool that does not exist",
      2,
      () => ["--mcp", started("stays", { portcullis: { tools: { othr: POLICY.portcullis } } })],
      'the server has no tool "othr", did you mean "other"?',
    ],
    [
      "a tool that no server has",
      2,
      () => ["--mcp", reached(), "--allow", "raw.ehco=read"],
      "--allow raw.ehco=read: no server has such a tool, did you mean raw.echo?",
    ],
    [
      "two sources with one name",
      2,
      () => ["--mcp", reached(), "--mcp", reached()],
      "has a source raw, and so has a file before it: rename one.",
    ],
    [
      "a server that says nothing",
      5,
      () => ["--mcp", started("silent-from-the-start", { portcullis: { ...POLICY.portcullis, connectTimeoutMs: 50 } })],
      'MCP server "raw": it did not list its tools within 50 ms.',
    ],
  ] as const)("%s", async (_what, code, args, sentence) => {
    const before = mark();
    const ended = await portcullis(["tools", ...args()]);
    expect(ended).toMatchObject({ code, stdout: "" });
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
    expect(ended.stderr).toContain(sentence);
    expect(isRunning(before)).toBe(false);
  });
});
