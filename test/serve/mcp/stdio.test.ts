import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { portcullis } from "../../cli/command.ts";
import { doorArgs, tools } from "./doors.ts";
import { configWith, INITIALIZE, openLineDoor, programCall } from "./line-door.ts";
import { newFolder } from "../../support/new-folder.ts";

const folder = newFolder();

test("standard output is messages to the byte, whatever modules, handlers, servers and clients write, to the end of its input", async () => {
  const { config } = configWith(folder, "plain");
  const door = openLineDoor(doorArgs("--mcp", config));
  await door.send(INITIALIZE);
  const code =
    'console.log("a program that prints"); await tools.raw.echo({ text: "x" }); return tools.shop.list({ n: 2 })';
  expect(JSON.stringify((await door.send(programCall(code))).result)).toContain("article 1");
  for (const line of ["", "garbage", "[]", "7", "null", '{"jsonrpc":"2.0"}', "[".repeat(100_000)]) door.write(line);
  const large = await door.send({ method: "tools/call", params: { name: "x".repeat(5 * 1024 * 1024) } });
  expect(large.error).toMatchObject({ code: -32_600, message: expect.stringContaining("4194304") as string });
  expect((await door.send({ method: "ping" })).result).toEqual({});
  door.child.stdin.end();
  const [exitCode] = await door.ended;
  const stdout = door.stdout();
  expect(exitCode).toBe(0);
  expect(stdout.endsWith("\n")).toBe(true);
  for (const line of stdout.slice(0, -1).split("\n")) expect(JSON.stringify(JSON.parse(line))).toBe(line);
  const stderr = await door.stderr;
  for (const noise of ["a module that prints", "a handler that prints", "and writes"]) expect(stderr).toContain(noise);
});

describe("keys", () => {
  const refusalOf = async (keys: unknown, mode = 0o600) => {
    const file = join(folder, "keys.json");
    writeFileSync(file, JSON.stringify({ keys }));
    chmodSync(file, mode);
    return portcullis(["mcp", "--tools", tools, "--http", "0", "--keys", file]);
  };
  const secret = "the secret of a key";

  test.each([
    ["too short", { key: "secret" }],
    ["with spaces", { key: secret }],
    ["given as its hash", { hash: secret }],
    ["in place of an entry", secret],
  ])("%s are refused, and the error does not show them", async (_, entry) => {
    const refused = await refusalOf([typeof entry === "string" ? entry : { id: "ann", tenant: "acme", ...entry }]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("keys[0]") as string });
    expect(refused.stderr).not.toContain("secret");
  });

  test("that other users can read are reported", async () => {
    const key = { id: "ann", tenant: "acme", key: "0123456789abcdef", tools: ["no.such"] };
    expect((await refusalOf([key], 0o644)).stderr).toContain(join(folder, "keys.json"));
  });
});

describe("bad input", () => {
  const keys = (content: unknown) => {
    const path = join(folder, `keys-${Math.random()}.json`);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  const http = (...args: string[]) => ["--tools", tools, "--http", "0", ...args];
  const key = { id: "a", key: "0123456789abcdef", tenant: "t" };

  test.concurrent.each([
    ["no tools at all", 2, () => [], "expected --tools"],
    ["a port that is none", 2, () => ["--tools", tools, "--http", "99999"], "65535"],
    ["--keys without --http", 2, () => ["--tools", tools, "--keys", "k.json"], "go with --http: add --http PORT"],
    ["an open address without keys", 2, () => http("--host", "0.0.0.0"), "add --keys FILE"],
    ["keys that are no JSON", 2, () => http("--keys", keys("{")), "line 1 column 2"],
    [
      "a tool that does not exist",
      2,
      () => http("--keys", keys({ keys: [{ ...key, tools: ["shop.lost"] }] })),
      "did you mean shop.list?",
    ],
    ["--approve later without a journal", 2, () => ["--tools", tools, "--approve", "later"], "add --journal FILE"],
  ])("%s", async (_, code, args, named) => {
    const finished = await portcullis(["mcp", ...args()]);
    expect([finished.code, finished.stdout]).toEqual([code, ""]);
    const lines = finished.stderr.split("\n").filter((line) => line.startsWith("portcullis: "));
    expect(lines.at(-1)).toContain(named);
  });

  test("a port that is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await portcullis(["mcp", "--tools", tools, "--http", String(port)]);
    expect(code).toBe(5);
    expect(stderr).toContain(`127.0.0.1, port ${port}`);
    taken.close();
  });
});
