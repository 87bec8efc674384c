import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
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

test("a port that is taken is told, with exit code 5", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  const { code, stderr } = await portcullis(["mcp", "--tools", tools, "--http", String(port)]);
  expect([code, stderr]).toEqual([5, expect.stringContaining(`127.0.0.1, port ${port}`)]);
  taken.close();
});
